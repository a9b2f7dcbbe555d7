// What a name of an ONNX graph holds while it is converted.
#pragma once
#include <memory>
#include <variant>
#include <vector>

#include "ir/build.h"

namespace tenon::converter::onnx {

struct Operand;

/// An optional input that is not given, or an empty optional.
struct Absent {};
/// The result of something that is not supported. Everything that depends on it is skipped; the report names
/// the cause.
struct Poisoned {};
/// Integers (i32, i64) or bools that are known up to symbols: what shapes are computed from.
struct Sizes {
  DType dtype = DType::i64;
  Index shape;
  std::vector<Dim> elements;  // row-major
};
using Sequence = std::shared_ptr<const std::vector<Operand>>;
struct Dictionary;
using DictionaryPtr = std::shared_ptr<const Dictionary>;

struct Operand {
  /// A Tensor is a rank-0 constant: it becomes a literal where it is used.
  std::variant<Absent, Poisoned, Tensor, Sizes, Value*, Sequence, DictionaryPtr> value;

  /// The number in TensorProto.DataType of a type that is held in a wider dtype, where it is known; else 0.
  std::int64_t narrow = 0;

  Operand() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Operand> && !std::is_same_v<std::remove_cvref_t<T>, Ref>)
      Operand(T&& v)
      : value(std::forward<T>(v)) {}
  Operand(const Ref& r) : value(r.value()) {}
  // In values.cpp: each is a table of functions, one per alternative.
  Operand(const Operand&);
  Operand(Operand&&) noexcept;
  Operand& operator=(const Operand&);
  Operand& operator=(Operand&&) noexcept;
  ~Operand();

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value);
  }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  bool is_tensor() const { return is<Tensor>() || is<Sizes>() || is<Value*>(); }
  Type type() const;  // of a tensor
};
using Operands = std::vector<Operand>;

/// Keys [n] (strings or i64) and the value beside each [n]; values [rows, n] are a list of dictionaries.
struct Dictionary {
  Operand keys, values;
};

/// True when the operand, or one of the operands, holds a poisoned value.
bool is_poisoned(const Operand&);
bool is_poisoned(const Operands&);

}  // namespace tenon::converter::onnx
