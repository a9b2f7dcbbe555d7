// The names of ATen's operators that have a form here.
#pragma once
#include <span>
#include <string_view>

namespace tenon::converter {

/// Without overloads, each once, sorted.
std::span<const std::string_view> implemented_operators();

}  // namespace tenon::converter
