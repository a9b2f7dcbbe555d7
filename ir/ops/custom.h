// Operators that a library of the user's computes.
#pragma once
#include "ir/operator_library.h"
#include "ir/ops/spans.h"

namespace tenon {

template <>
inline Attr from_attr<Attr>(const Attr& a) {
  return a;
}

/// A call of an operator of a library (ir/operator_library.h). The operands are its tensors; `call` is its
/// name and the other arguments, `signature` says what they all are: types follow without the library.
struct Custom : WithReference<0, -1> {
  static constexpr std::string_view name = "custom";
  std::vector<Attr> call;
  std::string signature;
  std::string library;  // the file's name, for messages
  static constexpr auto fields =
      std::tuple{field("call", &Custom::call), field("signature", &Custom::signature),
                 field("library", &Custom::library)};
  std::vector<Type> infer(TypeSpan in) const;
  /// Throws Error when no library with the operator is loaded, and when the operator fails.
  void reference(InSpan in, OutSpan out) const;

  const std::string& operator_name() const;
  /// Throws Error when no loaded library has the operator as it was converted.
  const LibraryOperator& loaded() const;
};

using CustomOps = OpList<Custom>;

}  // namespace tenon
