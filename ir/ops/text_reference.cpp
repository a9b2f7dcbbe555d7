// References of the operators on strings.
#include <locale.h>
#include <re2/re2.h>
#include <wctype.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/utf8.h"
#include "ir/ops/reference.h"
#include "ir/ops/text.h"
#include "ir/string_tensor.h"

namespace tenon {
namespace {

// What Unicode counts as blank (White_Space, and the separators U+001C to U+001F).
bool is_blank(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

std::vector<std::string> parts_by_blanks(std::string_view text, std::size_t most) {
  const std::u32string all = code_points(text);
  std::vector<std::string> parts;
  for (auto at = all.begin(); (at = std::find_if_not(at, all.end(), is_blank)) != all.end();) {
    const auto end = parts.size() == most ? all.end() : std::find_if(at, all.end(), is_blank);
    parts.push_back(utf8_of({at, end}));
    at = end;
  }
  return parts;
}

std::vector<std::string> parts_between(std::string_view text, std::string_view delimiter, std::size_t most) {
  std::vector<std::string> parts;
  std::size_t end = 0;
  while (parts.size() < most && (end = text.find(delimiter)) != text.npos) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.emplace_back(text);
  return parts;
}

// Letters of every script; only those of ASCII where the C library knows no Unicode.
std::string in_case(std::string_view text, LetterCase to) {
  static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::u32string all = code_points(text);
  for (char32_t& c : all) {
    if (c >= 0x80 && !unicode)
      throw unsupported("the case of letters beyond ASCII: this system has no locale C.UTF-8");
    const auto letter = static_cast<wint_t>(c);
    if (c < 0x80)
      c = static_cast<char32_t>(to == LetterCase::lower ? std::tolower(static_cast<int>(c))
                                                        : std::toupper(static_cast<int>(c)));
    else
      c = static_cast<char32_t>(to == LetterCase::lower ? ::towlower_l(letter, unicode)
                                                        : ::towupper_l(letter, unicode));
  }
  return utf8_of(all);
}

template <class F>
void map_texts(const Tensor& x, Tensor& out, F&& f) {
  std::vector<std::string> results;
  for (const std::string_view text : texts_of(x)) results.push_back(f(text));
  out.copy_from(string_tensor(x.shape(), results));
}

}  // namespace

void ConcatStrings::reference(InSpan in, OutSpan out) const {
  const Tensor x = in[0].expand(out[0].shape()), y = in[1].expand(out[0].shape());
  const auto first = texts_of(x), second = texts_of(y);
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < first.size(); ++i) joined.push_back(std::string(first[i]).append(second[i]));
  out[0].copy_from(string_tensor(out[0].shape(), joined));
}

void SplitStrings::reference(InSpan in, OutSpan out) const {
  const TextUse use;
  const auto limit = static_cast<std::size_t>(most.value_or(std::numeric_limits<std::int64_t>::max()));
  std::vector<std::vector<std::string>> parts;
  std::size_t longest = 0;
  for (const std::string_view text : texts_of(in[0])) {
    parts.push_back(delimiter.empty() ? parts_by_blanks(text, limit) : parts_between(text, delimiter, limit));
    longest = std::max(longest, parts.back().size());
  }
  Index shape = in[0].shape();
  out[1] = Tensor::empty(DType::i64, shape);
  shape.insert(shape.begin(), static_cast<std::int64_t>(longest));
  out[0] = Tensor::zeros(DType::string, shape);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out[1].mutable_data<std::int64_t>()[i] = static_cast<std::int64_t>(parts[i].size());
    for (std::size_t k = 0; k < parts[i].size(); ++k)
      out[0].mutable_data<Text>()[k * parts.size() + i] = Text::of(parts[i][k]);
  }
}

void ChangeCase::reference(InSpan in, OutSpan out) const {
  map_texts(in[0], out[0], [&](std::string_view text) { return in_case(text, to); });
}

void MatchPattern::reference(InSpan in, OutSpan out) const {
  const re2::RE2 compiled(pattern, re2::RE2::Quiet);
  bool* matches = out[0].mutable_data<bool>();
  for (const std::string_view text : texts_of(in[0]))
    *matches++ = re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), compiled);
}

}  // namespace tenon
