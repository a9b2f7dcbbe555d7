// Which Tenon this is.
#pragma once
#include <string_view>

namespace tenon {

/// "0.1.0"
std::string_view version();

}  // namespace tenon
