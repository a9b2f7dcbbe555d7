// Reading and writing the header of a .npy file: a Python dict with three known keys.
#include "ir/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/error.h"

namespace tenon {
namespace {
constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_text = 1 << 16;
constexpr std::size_t highest_rank = 64;
constexpr std::size_t longest_string = 1 << 28;

struct Descr {
  DType dtype;
  std::string_view text;  // without the byte order
};
constexpr std::array<Descr, 19> descrs = {{{DType::boolean, "b1"},
                                           {DType::u8, "u1"},
                                           {DType::i8, "i1"},
                                           {DType::u16, "u2"},
                                           {DType::i16, "i2"},
                                           {DType::u32, "u4"},
                                           {DType::i32, "i4"},
                                           {DType::u64, "u8"},
                                           {DType::i64, "i8"},
                                           {DType::f16, "f2"},
                                           {DType::bf16, "V2"},
                                           {DType::f32, "f4"},
                                           {DType::f64, "f8"},
                                           {DType::c64, "c8"},
                                           {DType::c128, "c16"},
                                           {DType::f8e4m3fn, "V1"},
                                           {DType::f8e5m2, "V1"},
                                           {DType::f8e4m3fnuz, "V1"},
                                           {DType::f8e5m2fnuz, "V1"}}};

Error big_endian(std::string_view descr, std::string_view same) {
  return unsupported("the array's numbers are big-endian ('{}')", descr)
      .hint(fmt::format("save it again after .astype('<{}')", same));
}

// "<U5", "|S5": the form of the strings.
std::optional<NpyString> string_of(std::string_view descr) {
  if (descr.size() < 3 || (descr[1] != 'U' && descr[1] != 'S')) return std::nullopt;
  NpyString form{.code_points = descr[1] == 'U'};
  const char* end = descr.data() + descr.size();
  const auto read = std::from_chars(descr.data() + 2, end, form.width);
  if (read.ec != std::errc() || read.ptr != end || form.width == 0 || form.width > longest_string)
    throw error("the .npy header is damaged: '{}' is not a dtype", descr);
  if (descr[0] == '>' && form.code_points) throw big_endian(descr, descr.substr(1));
  return form;
}

DType dtype_of(std::string_view descr) {
  const char order = descr.empty() ? '?' : descr[0];
  if (descr == "|O")
    throw unsupported("the array holds Python objects (NumPy's dtype 'object')")
        .hint("save strings after .astype(str)");
  const auto same = [&](const Descr& d) { return !descr.empty() && d.text == descr.substr(1); };
  const auto found = std::find_if(descrs.begin(), descrs.end(), same);
  const bool has_order = found != descrs.end() && size_of(found->dtype) != 1 && found->text[0] != 'V';
  if (found == descrs.end() || (order == '|' && has_order))
    throw unsupported("the array has NumPy's dtype '{}', which is no number that Tenon knows", descr)
        .hint("convert it with .astype() and save it again");
  if (order == '>' && has_order) throw big_endian(descr, found->text);
  if (order != '<' && order != '=' && order != '|' && order != '>')
    throw error("the .npy header is damaged: '{}' is not a dtype", descr);
  return found->dtype;
}

class DictReader {
 public:
  explicit DictReader(std::string_view text) : text_(text) {}

  NpyHeader read() {
    NpyHeader header;
    expect('{');
    bool has_descr = false, has_order = false, has_shape = false;
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr")
        descr(header), has_descr = true;
      else if (key == "fortran_order")
        header.fortran_order = boolean(), has_order = true;
      else if (key == "shape")
        header.shape = tuple(), has_shape = true;
      else
        throw damaged(fmt::format("the key '{}' is unknown", key));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) throw damaged("text follows the dict");
    if (!has_descr || !has_order || !has_shape) throw damaged("a key is missing");
    return header;
  }

 private:
  Error damaged(std::string_view how) const { return error("the .npy header is damaged: {}", how); }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) throw damaged(fmt::format("'{}' is missing at position {}", c, at_));
  }

  std::string_view string() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') throw damaged(fmt::format("a string is missing at position {}", at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) throw damaged("a string does not end");
    const std::string_view result = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return result;
  }

  void descr(NpyHeader& header) {
    skip_spaces();
    const bool is_record = at_ < text_.size() && text_[at_] == '[';
    if (is_record)
      throw unsupported("the array is structured: its elements are records").hint("save one array a field");
    const std::string_view text = string();
    const auto form = string_of(text);
    header.dtype = form ? DType::string : dtype_of(text);
    header.string = form.value_or(NpyString{});
  }

  bool boolean() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    throw damaged("fortran_order is neither True nor False");
  }

  Index tuple() {
    Index sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(size());
      if (sizes.size() > highest_rank)
        throw damaged(fmt::format("the shape has more than {} axes", highest_rank));
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::int64_t size() {
    skip_spaces();
    std::int64_t value = -1;
    const auto result = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (result.ec != std::errc() || value < 0) throw damaged("a size in the shape is no natural number");
    at_ = static_cast<std::size_t>(result.ptr - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};
}  // namespace

NpyTextPlace npy_text_place(std::span<const std::byte> begin) {
  const bool is_npy =
      begin.size() >= shortest_npy_prefix && std::memcmp(begin.data(), magic.data(), magic.size()) == 0;
  if (!is_npy) throw error("this is not a .npy file").hint("numpy.save('x.npy', array) writes one");
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(begin[i]); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) throw unsupported("the .npy format {}.{} is unknown", version, byte(7));
  NpyTextPlace place{shortest_npy_prefix, byte(8) | byte(9) << 8};
  if (version > 1) {
    if (begin.size() < longest_npy_prefix) throw error("the .npy file ends in its header");
    place = {longest_npy_prefix, place.size | byte(10) << 16 | byte(11) << 24};
  }
  if (place.size > longest_text) throw error("the .npy header is damaged: it claims {} bytes", place.size);
  return place;
}

NpyHeader parse_npy_header(std::string_view text) { return DictReader(text).read(); }

namespace {
std::string descr_text(DType dtype, const NpyString& string) {
  if (is_string(dtype)) return fmt::format("<U{}", string.width);
  const auto found =
      std::find_if(descrs.begin(), descrs.end(), [&](const Descr& d) { return d.dtype == dtype; });
  TENON_CHECK(found != descrs.end());
  return fmt::format("{}{}", size_of(dtype) == 1 ? '|' : '<', found->text);
}
}  // namespace

std::string npy_header(DType dtype, const Index& shape, const NpyString& string) {
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr_text(dtype, string),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // NumPy leaves room for the first size to grow to 21 digits in place.
  if (!shape.empty()) text.append(21 - fmt::formatted_size("{}", shape[0]), ' ');
  const bool is_long = shortest_npy_prefix + text.size() + 64 > 0xffff;
  const std::size_t prefix = is_long ? longest_npy_prefix : shortest_npy_prefix;
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header(magic);
  header += {is_long ? '\2' : '\1', '\0'};
  for (std::size_t i = 8; i < prefix; ++i) header += static_cast<char>(text.size() >> (8 * (i - 8)) & 0xff);
  return header + text;
}

}  // namespace tenon
