// What every file that can fail would compile again.
#include "base/error.h"

#include <fmt/format.h>

namespace tenon {

Error::Error(std::string message, Exit code)
    : std::runtime_error(message), message_(std::move(message)), code_(code) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

Error format_error(Exit code, fmt::string_view text, fmt::format_args args) {
  return Error(fmt::vformat(text, args), code);
}

void check_failed(const char* what, const char* file, int line) {
  throw InternalError(fmt::format("internal error: {} does not hold ({}:{})", what, file, line));
}

}  // namespace tenon
