// Messages are formatted with the {fmt} of LibTorch here: base/error.cpp is compiled with the system's.
#include <fmt/format.h>

#include "base/error.h"

namespace tenon {

Error format_error(Exit code, fmt::string_view text, fmt::format_args args) {
  return Error(fmt::vformat(text, args), code);
}

}  // namespace tenon
