// Sizes as an exported program writes them, in the text form of ir/dim.h.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tenon::exported {

/// "Mul(Integer(2), Symbol('s0', positive=True, integer=True))", SymPy's srepr, is "2*s0". nullopt for what
/// is no size: fractions, comparisons, functions that are not known. Throws Error on text that is no srepr.
std::optional<std::string> size_text(std::string_view srepr);

}  // namespace tenon::exported
