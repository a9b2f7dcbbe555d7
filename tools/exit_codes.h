// What the exit codes of the command line mean, by number (base/error.h).
#pragma once
#include <array>
#include <string_view>

namespace tenon::tools {

inline constexpr std::array<std::string_view, 5> exit_codes = {
    "done",
    "results differ",
    "wrong usage or bad input",
    "not supported",
    "the environment failed: no space, no memory, no rights, a missing part or device",
};

}  // namespace tenon::tools
