#include "base/image/image.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/image/formats.h"

namespace tenon {

namespace {

using image::Bytes;

struct Format {
  std::string_view name, magic;
  std::size_t at;  // where the magic bytes stand
  void (*read)(Bytes, const image::Begin&, Image&);
};

using namespace std::string_view_literals;
constexpr std::array formats{
    Format{"BMP", "BM"sv, 0, image::read_bmp},
    Format{"JPEG", "\xff\xd8\xff"sv, 0, image::read_jpeg},
    Format{"JPEG 2000", "\0\0\0\x0cjP  \r\n\x87\n"sv, 0, image::read_jpeg2000},
    Format{"JPEG 2000", "\xff\x4f\xff\x51"sv, 0, image::read_jpeg2000},
    Format{"PNG", "\x89PNG\r\n\x1a\n"sv, 0, image::read_png},
    Format{"PNM", "P1"sv, 0, image::read_pnm},
    Format{"PNM", "P2"sv, 0, image::read_pnm},
    Format{"PNM", "P3"sv, 0, image::read_pnm},
    Format{"PNM", "P4"sv, 0, image::read_pnm},
    Format{"PNM", "P5"sv, 0, image::read_pnm},
    Format{"PNM", "P6"sv, 0, image::read_pnm},
    Format{"TIFF", "II*\0"sv, 0, image::read_tiff},
    Format{"TIFF", "MM\0*"sv, 0, image::read_tiff},
    Format{"TIFF", "II+\0"sv, 0, image::read_tiff},
    Format{"TIFF", "MM\0+"sv, 0, image::read_tiff},
    Format{"WebP", "WEBP"sv, 8, image::read_webp},
};

const Format& format_of(Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Format& f : formats)
    if (text.size() >= f.at && text.substr(f.at).starts_with(f.magic)) return f;
  throw error("the {} bytes are no image that Tenon reads: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP",
              bytes.size());
}

Image read(Bytes bytes, bool with_pixels) {
  const Format& format = format_of(bytes);
  Image image;
  format.read(
      bytes,
      [&](ImageSize size) {
        if (size.height < 1 || size.width < 1)
          throw error("the {} image has {} x {} pixels", format.name, size.width, size.height);
        if (size.width > most_pixels / size.height)
          throw unsupported("the {} image has {} x {} pixels; at most {} are read", format.name, size.width,
                            size.height, most_pixels);
        image.size = size;
        if (with_pixels) image.pixels.resize(static_cast<std::size_t>(size.height * size.width) * 3);
        return with_pixels;
      },
      image);
  return image;
}

}  // namespace

ImageSize image_size(Bytes bytes) { return read(bytes, false).size; }
Image decode_image(Bytes bytes) { return read(bytes, true); }

}  // namespace tenon
