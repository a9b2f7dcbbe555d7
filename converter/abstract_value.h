// One value of the interpreted program: what a Python variable holds while the model is read.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dim.h"

namespace tenon::converter {

class AbstractTensor;
struct List;
struct Dict;
struct Tuple;
using TensorPtr = std::shared_ptr<AbstractTensor>;
using ListPtr = std::shared_ptr<List>;
using DictPtr = std::shared_ptr<Dict>;
using TuplePtr = std::shared_ptr<const Tuple>;

struct None {};
/// The result of something that is not supported. Everything that depends on it is skipped; the report names
/// the cause.
struct Poison {};
/// A variable the program promises not to read.
struct Uninitialized {};
struct Comparison;
/// A bool that is only known when the model runs: an expression over sizes or over the data of tensors.
struct SymbolicBool {
  std::string why;                       // "N > 3"
  std::shared_ptr<const Comparison> of;  // how the model computes it; null: it cannot be computed
};
/// A value that differs between two branches in a way that the graph cannot express (a string on one side, a
/// number on the other). It may be passed on, but any use of it is refused.
struct DivergentValue {
  std::string why;
};
/// The last item of a list that a loop of unknown length appended to. It stands for one tensor per step: the
/// slices of `stack` along its first axis.
struct StackedList {
  TensorPtr stack;
};
struct Device {
  std::string name;  // "cpu", "cuda:0"
};
/// An object of the source program that no operator receives: a module or a function.
struct Object {
  virtual ~Object() = default;
};
using ObjectPtr = std::shared_ptr<Object>;

template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// Integers are Dims: known, or an expression over the input sizes. dtypes, layouts and memory formats are
/// integers with c10's numbers.
struct AbstractValue {
  std::variant<None, Poison, Uninitialized, bool, SymbolicBool, Dim, double, std::string, Device, TensorPtr,
               ListPtr, DictPtr, TuplePtr, ObjectPtr, DivergentValue, StackedList>
      value;

  AbstractValue() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, AbstractValue> && !is_integer<std::remove_cvref_t<T>>)
      AbstractValue(T&& v)
      : value(std::forward<T>(v)) {}
  template <class T>
  requires is_integer<T> AbstractValue(T v) : value(Dim(static_cast<std::int64_t>(v))) {}
  // In abstract_value.cpp: each is a table of functions, one per alternative.
  AbstractValue(const AbstractValue&);
  AbstractValue(AbstractValue&&) noexcept;
  AbstractValue& operator=(const AbstractValue&);
  AbstractValue& operator=(AbstractValue&&) noexcept;
  ~AbstractValue();

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value);
  }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  template <class T>
  T* get() {
    return std::get_if<T>(&value);
  }

  bool is_none() const { return is<None>(); }
  bool is_tensor() const { return is<TensorPtr>(); }
  /// A Python int, float or bool whose value or symbol is known.
  bool is_number() const { return is<bool>() || is<Dim>() || is<double>(); }
};

/// A function of numbers, bools and tensors: "lt", "le", "gt", "ge", "eq", "ne", "not", "and", "or", "truth".
struct Comparison {
  std::string op;
  std::vector<AbstractValue> operands;
};

/// Shared by identity: an append is seen through every variable that holds the list.
struct List {
  std::vector<AbstractValue> items;
  std::string state;   // not empty: an attribute of the model ("blocks.sizes"), which must not change
  bool grows = false;  // a loop of unknown length is appending to it; no other use is allowed meanwhile
  std::string fixed;   // not empty: why it must not change. PyTorch may have one list where we have two

  /// The stacked items at its end, or null.
  const StackedList* stacked_list() const;
};
struct Dict {
  std::vector<std::pair<AbstractValue, AbstractValue>> items;  // in insertion order
  std::string state;
};
struct Tuple {
  std::vector<AbstractValue> items;
  std::vector<std::string> fields;  // of a NamedTuple
};

/// The bool that `op` gives for the operands when the model runs.
SymbolicBool symbolic_bool(std::string why, std::string op, std::vector<AbstractValue> operands);

AbstractValue list_of(std::vector<AbstractValue> items);
AbstractValue tuple_of(std::vector<AbstractValue> items);
/// The items of a list or tuple; null for anything else.
const std::vector<AbstractValue>* items_of(const AbstractValue&);
/// True when the value is poison or holds poison.
bool is_poisoned(const AbstractValue&);
/// True when the value is a tensor or a list or tuple with a tensor in it.
bool holds_tensor(const AbstractValue&);
/// "a tensor", "an int", "a list": for messages.
std::string kind_name(const AbstractValue&);

}  // namespace tenon::converter
