// A string as the element of a tensor: a handle to an immutable text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon {

/// Equal texts have equal handles, and the handle of the empty one is zero: what moves or compares elements
/// by their bytes does so with strings. A text is kept while its handle lies in memory between
/// keep_texts_in() and forget_texts_in(), or a TextUse lives. Safe from any thread.
struct Text {
  std::uint64_t handle = 0;

  /// Throws Error when the bytes are no UTF-8.
  static Text of(std::string_view utf8);
  std::string_view view() const;
  bool operator==(const Text&) const = default;
};

/// While one lives, no text is dropped: handles may lie anywhere, as in the memory of a run. Where it ends
/// they lie in tensors.
class TextUse {
 public:
  TextUse();
  ~TextUse();
  TextUse(const TextUse&) = delete;
  TextUse& operator=(const TextUse&) = delete;
};

/// The handles in these bytes, at multiples of eight, keep their texts.
void keep_texts_in(const std::byte* data, std::size_t bytes);
/// From here on they do not: to be called before the memory goes. Nothing happens where none was kept.
void forget_texts_in(const std::byte* data);

}  // namespace tenon
