// "did you mean": the known word closest to a mistyped one.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

/// Insertions, deletions and replacements that make one word the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The word with the fewest insertions, deletions and replacements to `word`; the first of equals; empty when
/// `known` is empty.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// The name of a file that was perhaps meant: at most three letters off, and no more than half of them;
/// empty: none.
std::string_view similar_name(std::string_view name, std::span<const std::string_view> known);

}  // namespace tenon
