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
/// Result of something unsupported: what depends on it is skipped, the report names the cause.
struct Poison {};
/// A variable the program promises not to read.
struct Uninitialized {};
struct Comparison;
/// A bool that is not known while the model is read.
struct Undecided {
  std::string why;                       // "N > 3"
  std::shared_ptr<const Comparison> of;  // how the model computes it; null: it cannot be computed
};
/// A value that is one thing or another, depending on what is not known while the model is read: it may be
/// handed on, but not used.
struct Mixed {
  std::string why;
};
/// In a list, as the last item: one tensor for each step of a loop, slices of `stack` along its first axis.
struct Series {
  TensorPtr stack;
};
struct Device {
  std::string name;  // "cpu", "cuda:0"
};
/// A thing of the source format that operators never see: a module, a function.
struct Object {
  virtual ~Object() = default;
};
using ObjectPtr = std::shared_ptr<Object>;

template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// Integers are Dims: known, or an expression over the input sizes. dtypes, layouts and memory formats are
/// integers with c10's numbers.
struct Datum {
  std::variant<None, Poison, Uninitialized, bool, Undecided, Dim, double, std::string, Device, TensorPtr,
               ListPtr, DictPtr, TuplePtr, ObjectPtr, Mixed, Series>
      value;

  Datum() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Datum> && !is_integer<std::remove_cvref_t<T>>) Datum(T&& v)
      : value(std::forward<T>(v)) {}
  template <class T>
  requires is_integer<T> Datum(T v) : value(Dim(static_cast<std::int64_t>(v))) {}
  // In datum.cpp: each is a table of functions, one per alternative.
  Datum(const Datum&);
  Datum(Datum&&) noexcept;
  Datum& operator=(const Datum&);
  Datum& operator=(Datum&&) noexcept;
  ~Datum();

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
  std::vector<Datum> operands;
};

/// Shared by identity: an append is seen through every variable that holds the list.
struct List {
  std::vector<Datum> items;
  std::string state;   // not empty: an attribute of the model ("blocks.sizes"), which must not change
  bool grows = false;  // while a loop of unknown length appends to it: nothing else may be done with it
  std::string fixed;   // not empty: why it must not change, as PyTorch may have one list where here are two

  /// The series at its end, or null.
  const Series* series() const;
};
struct Dict {
  std::vector<std::pair<Datum, Datum>> items;  // in insertion order
  std::string state;
};
struct Tuple {
  std::vector<Datum> items;
  std::vector<std::string> fields;  // of a NamedTuple
};

/// What `op` gives for the operands, when the model runs.
Undecided undecided(std::string why, std::string op, std::vector<Datum> operands);

Datum list_of(std::vector<Datum> items);
Datum tuple_of(std::vector<Datum> items);
/// The items of a list or tuple; null for anything else.
const std::vector<Datum>* items_of(const Datum&);
/// True when the datum is poison or holds poison.
bool is_poisoned(const Datum&);
/// True when the datum is a tensor or a list or tuple with a tensor in it.
bool holds_tensor(const Datum&);
/// "a tensor", "an int", "a list": for messages.
std::string kind_name(const Datum&);

}  // namespace tenon::converter
