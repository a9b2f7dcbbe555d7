// Portable bitmaps, greymaps and pixmaps (P1 to P6): numbers as text or as bytes.
#include "base/error.h"
#include "base/image/formats.h"

namespace tenon::image {

namespace {

class PnmReader {
 public:
  explicit PnmReader(Bytes bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (at_ >= bytes_.size()) throw error("the PNM image is cut");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  /// A decimal number behind blanks and comments.
  std::uint32_t number() {
    std::uint8_t c = solid();
    std::uint32_t value = 0;
    if (c < '0' || c > '9') throw error("the PNM image is damaged: a number is missing");
    for (; c >= '0' && c <= '9'; c = byte()) {
      value = value * 10 + (c - '0');
      if (value > 1u << 28) throw error("the PNM image is damaged: a number is too large");
      if (at_ == bytes_.size()) break;  // the last number of a text
    }
    return value;
  }
  /// 0 or 1; they need no blanks between them.
  bool bit() {
    const std::uint8_t c = solid();
    if (c != '0' && c != '1') throw error("the PNM image is damaged: a bit is neither 0 nor 1");
    return c == '1';
  }

 private:
  std::uint8_t solid() {
    for (;;) {
      std::uint8_t c = byte();
      while (c == '#')
        while (c != '\n' && c != '\r') c = byte();
      if (c != ' ' && (c < '\t' || c > '\r')) return c;
    }
  }

  Bytes bytes_;
  std::size_t at_ = 2;  // behind "P6"
};

}  // namespace

void read_pnm(Bytes bytes, const Begin& begin, Image& image) {
  const auto kind = static_cast<char>(bytes[1]);
  const bool is_bitmap = kind == '1' || kind == '4', is_text = kind <= '3';
  const bool has_colours = kind == '3' || kind == '6';
  PnmReader in(bytes);
  const std::int64_t width = in.number(), height = in.number();
  const std::uint32_t most = is_bitmap ? 1 : in.number();
  if (most < 1 || most > 65535) throw error("the PNM image counts up to {}", most);
  if (!begin({height, width})) return;
  const auto sample = [&]() -> std::uint8_t {
    std::uint32_t value = is_text ? in.number() : in.byte();
    if (!is_text && most > 255) value = value << 8 | in.byte();
    if (value > most) throw error("the PNM image is damaged: {} exceeds {}", value, most);
    return static_cast<std::uint8_t>(most > 255 ? std::uint64_t{value} * 255 / most
                                                : (value * 255 + most / 2) / most);
  };
  std::uint8_t* to = image.pixels.data();
  for (std::int64_t y = 0; y < height; ++y) {
    std::uint8_t bits = 0;
    for (std::int64_t x = 0; x < width; ++x, to += 3) {
      if (kind == '4' && x % 8 == 0) bits = in.byte();
      if (is_bitmap) {
        const bool is_black = is_text ? in.bit() : (bits >> (7 - x % 8) & 1) != 0;
        to[0] = is_black ? 0 : 255;
      } else {
        to[0] = sample();
      }
      to[1] = has_colours ? sample() : to[0];
      to[2] = has_colours ? sample() : to[0];
    }
  }
}

}  // namespace tenon::image
