// What an operator of a library takes and gives: "(x: T[...,C], alpha: float = 1.0) -> T[...,C]".
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attr.h"
#include "ir/type.h"

namespace tenon {

/// The grammar stands in include/tenon/operator.h.
struct OperatorSignature {
  enum class Kind : std::uint8_t { tensor, integer, real, boolean, text, integers, reals };

  /// Any type of this form. `dtype` is a dtype's name, or a name for one; symbols of `shape` stand for sizes.
  struct Pattern {
    std::string text, dtype;
    bool has_leading = false;  // any axes in front
    Shape shape;
  };

  struct Argument {
    std::string name;
    Kind kind = Kind::tensor;
    Pattern tensor;                // Kind::tensor
    std::optional<Attr> fallback;  // not of tensors
  };

  std::string text;
  std::vector<Argument> arguments;
  std::vector<Pattern> results;

  /// Throws Error with the place in the text.
  static OperatorSignature parse(std::string_view text);

  std::size_t tensors() const;
  /// "mylib::scaled_add(Tensor x, float alpha=1.0) -> Tensor": the same as PyTorch writes it.
  std::string torch_schema(std::string_view name) const;
  /// The results' types. `values` are those of the arguments that are no tensors, in order. Throws Error when
  /// something does not fit.
  std::vector<Type> infer(std::span<const Type> tensors, std::span<const Attr> values) const;
};

}  // namespace tenon
