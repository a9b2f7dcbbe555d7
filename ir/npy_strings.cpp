#include "ir/npy_strings.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/utf8.h"
#include "ir/string_tensor.h"

namespace tenon {

NpyString npy_string_for(const Tensor& strings) {
  NpyString form{.width = 1, .code_points = true};  // NumPy has no width 0 in files
  for (const std::string_view text : texts_of(strings)) {
    if (text.ends_with('\0'))
      throw unsupported("a string ends with a zero character, which NumPy's arrays of strings cannot hold");
    form.width = std::max(form.width, code_points(text).size());
  }
  return form;
}

std::vector<std::byte> encode(const Tensor& strings, const NpyString& form) {
  TENON_CHECK(form.code_points);
  const std::vector<std::string_view> texts = texts_of(strings);
  std::vector<std::byte> bytes(texts.size() * form.bytes());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::u32string text = code_points(texts[i]);
    if (!text.empty()) std::memcpy(bytes.data() + i * form.bytes(), text.data(), 4 * text.size());
  }
  return bytes;
}

void decode(std::span<const std::byte> bytes, const NpyString& form, Tensor& strings) {
  const TextUse use;
  auto* out = strings.mutable_data<Text>();
  for (std::int64_t i = 0; i < strings.numel(); ++i) {
    const auto element = bytes.subspan(static_cast<std::size_t>(i) * form.bytes(), form.bytes());
    if (form.code_points) {
      std::u32string text(form.width, U'\0');
      if (!element.empty()) std::memcpy(text.data(), element.data(), element.size());
      text.erase(text.find_last_not_of(U'\0') + 1);
      out[i] = Text::of(utf8_of(text));
    } else {
      std::string text(reinterpret_cast<const char*>(element.data()), element.size());
      text.erase(text.find_last_not_of('\0') + 1);
      out[i] = Text::of(text);
    }
  }
}

}  // namespace tenon
