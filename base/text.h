// A string as the element of a tensor: a handle to an immutable text that the process keeps.
#pragma once
#include <cstdint>
#include <string_view>

namespace tenon {

/// Equal texts have equal handles, and the handle of the empty one is zero: what moves or compares elements
/// by their bytes does so with strings. Texts are kept until the process ends. Safe from any thread.
struct Text {
  std::uint64_t handle = 0;

  /// Throws Error when the bytes are no UTF-8.
  static Text of(std::string_view utf8);
  std::string_view view() const;
  bool operator==(const Text&) const = default;
};

}  // namespace tenon
