// Names that are not taken.
#pragma once
#include <span>
#include <string>

namespace tenon {

/// The name, with a number where it is taken: "y", "y_2".
std::string free_name(std::span<const std::string> taken, const std::string& name);

}  // namespace tenon
