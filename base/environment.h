// Failures of the machine rather than of what it is given: no space, no memory, no rights, a missing part or
// device.
#pragma once
#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace tenon {

/// The exit code of these failures: the same command may succeed on another machine, or later.
inline constexpr Exit environment_failed{4};

template <class... Args>
Error environment_error(fmt::format_string<Args...> text, Args&&... args) {
  return Error(fmt::format(text, std::forward<Args>(args)...), environment_failed);
}

/// A system call failed with this errno: "the file cannot be written: No space left on device". A failure of
/// the machine where it lacks space, memory, rights, processes or open files, or a disk is broken; else bad
/// input.
Error system_error(int reason, std::string_view what);
/// Why the file at this path could not be opened.
Error cannot_open(const std::filesystem::path&, int reason);

}  // namespace tenon
