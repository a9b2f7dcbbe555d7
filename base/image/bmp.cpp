// Windows bitmaps without compression, of 1 to 32 bits a pixel.
#include <array>
#include <bit>

#include "base/error.h"
#include "base/image/formats.h"

namespace tenon::image {

namespace {

Error damaged() { return error("the BMP image is damaged, or cut"); }

class BmpReader {
 public:
  explicit BmpReader(Bytes bytes) : bytes_(bytes) {}

  std::uint32_t number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) throw damaged();
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::uint32_t>(bytes_[at + i]) << 8 * i;
    return value;
  }

 private:
  Bytes bytes_;
};

/// Bits of a pixel that hold one colour.
struct Channel {
  std::uint32_t mask = 0;

  std::uint8_t of(std::uint32_t pixel) const {
    if (mask == 0) return 0;
    const std::uint64_t value = (pixel & mask) >> std::countr_zero(mask),
                        most = mask >> std::countr_zero(mask);
    return static_cast<std::uint8_t>((value * 255 + most / 2) / most);
  }
};

struct Header {
  std::size_t pixels = 0, palette = 0, palette_entry = 4, colours = 0, bits = 0;
  std::int64_t width = 0, height = 0;
  bool from_top = false;
  std::array<Channel, 3> channels;  // red, green, blue; of 16 and 32 bits
};

Header header_of(const BmpReader& in) {
  constexpr std::size_t file_header = 14, core = 12, info = 40, masks_in_header = 52;
  enum Compression : std::uint32_t { none = 0, bit_fields = 3, alpha_bit_fields = 6 };
  Header h;
  h.pixels = in.number(10, 4);
  const std::size_t size = in.number(file_header, 4);
  h.palette = file_header + size;
  if (size == core) {
    h.width = in.number(18, 2), h.height = in.number(20, 2), h.bits = in.number(24, 2), h.palette_entry = 3;
  } else {
    if (size < info) throw damaged();
    h.width = static_cast<std::int32_t>(in.number(18, 4));
    h.height = static_cast<std::int32_t>(in.number(22, 4));
    h.bits = in.number(28, 2);
    h.colours = in.number(46, 4);
  }
  h.from_top = h.height < 0;
  if (h.from_top) h.height = -h.height;
  const std::uint32_t compression = size == core ? none : in.number(30, 4);
  if (h.bits == 16) h.channels = {Channel{0x7c00}, Channel{0x3e0}, Channel{0x1f}};
  if (h.bits == 32) h.channels = {Channel{0xff0000}, Channel{0xff00}, Channel{0xff}};
  if (compression == bit_fields || compression == alpha_bit_fields) {
    for (std::size_t i = 0; i < 3; ++i) h.channels[i].mask = in.number(54 + i * 4, 4);
    if (size < masks_in_header) h.palette += compression == bit_fields ? 12 : 16;
  } else if (compression != none) {
    throw unsupported("a compressed BMP image").hint("save it as PNG");
  }
  const bool is_known =
      h.bits == 1 || h.bits == 4 || h.bits == 8 || h.bits == 16 || h.bits == 24 || h.bits == 32;
  if (!is_known) throw error("the BMP image has {} bits a pixel", h.bits);
  if (h.bits <= 8 && (h.colours == 0 || h.colours > 1u << h.bits)) h.colours = std::size_t{1} << h.bits;
  return h;
}

}  // namespace

void read_bmp(Bytes bytes, const Begin& begin, Image& image) {
  const BmpReader in(bytes);
  const Header h = header_of(in);
  if (!begin({h.height, h.width})) return;
  const std::size_t row = (static_cast<std::size_t>(h.width) * h.bits + 31) / 32 * 4;
  if (h.pixels > bytes.size() || row * static_cast<std::size_t>(h.height) > bytes.size() - h.pixels)
    throw damaged();
  std::uint8_t* to = image.pixels.data();
  for (std::int64_t y = 0; y < h.height; ++y) {
    const std::size_t start = h.pixels + row * static_cast<std::size_t>(h.from_top ? y : h.height - 1 - y);
    for (std::size_t x = 0; x < static_cast<std::size_t>(h.width); ++x, to += 3) {
      if (h.bits <= 8) {
        const std::size_t bit = x * h.bits;
        const std::uint32_t in_byte = in.number(start + bit / 8, 1) >> (8 - h.bits - bit % 8);
        const std::size_t colour = in_byte & ((1u << h.bits) - 1);
        if (colour >= h.colours) throw damaged();
        for (std::size_t c = 0; c < 3; ++c)
          to[c] = static_cast<std::uint8_t>(in.number(h.palette + colour * h.palette_entry + 2 - c, 1));
      } else if (h.bits == 24) {
        for (std::size_t c = 0; c < 3; ++c)
          to[c] = static_cast<std::uint8_t>(in.number(start + x * 3 + 2 - c, 1));
      } else {
        const std::uint32_t pixel = in.number(start + x * h.bits / 8, h.bits / 8);
        for (std::size_t c = 0; c < 3; ++c) to[c] = h.channels[c].of(pixel);
      }
    }
  }
}

}  // namespace tenon::image
