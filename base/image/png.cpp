// PNG by libpng's simplified interface.
#include <memory>

#include "base/error.h"
#include "base/image/formats.h"
#include "base/image/library.h"

namespace tenon::image {

namespace {

/// png_image of libpng 1.6.
struct PngImage {
  void* opaque = nullptr;
  std::uint32_t version = 1, width = 0, height = 0, format = 0, flags = 0, colormap_entries = 0;
  std::uint32_t warning_or_error = 0;
  char message[64] = {};
};

struct LibPng {
  Library library{"libpng16.so.16", "PNG", "libpng16-16"};
  int (*begin)(PngImage*, const void*, std::size_t) = library["png_image_begin_read_from_memory"];
  int (*finish)(PngImage*, const void* background, void* to, std::int32_t row_stride,
                void* colormap) = library["png_image_finish_read"];
  void (*free)(PngImage*) = library["png_image_free"];
};

}  // namespace

void read_png(Bytes bytes, const Begin& begin, Image& image) {
  static const LibPng png;
  constexpr std::uint32_t rgba = 3, as_srgb = 4;
  PngImage read;
  const std::unique_ptr<PngImage, void (*)(PngImage*)> freed(&read, png.free);
  const auto check = [&](int result) {
    if (result == 0 || read.warning_or_error > 1) throw error("the PNG image is damaged: {}", read.message);
  };
  check(png.begin(&read, bytes.data(), bytes.size()));
  if (!begin({read.height, read.width})) return;
  read.format = rgba;
  read.flags |= as_srgb;
  std::vector<std::uint8_t> with_alpha(image.pixels.size() / 3 * 4);
  check(png.finish(&read, nullptr, with_alpha.data(), 0, nullptr));
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = with_alpha[i / 3 * 4 + i % 3];
}

}  // namespace tenon::image
