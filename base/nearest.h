// "did you mean": the known word closest to a mistyped one.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace tenon {

/// The word with the fewest insertions, deletions and replacements to `word`; the first of equals; empty when
/// `known` is empty.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace tenon
