// WebP by libwebp.
#include "base/error.h"
#include "base/image/formats.h"
#include "base/image/library.h"

namespace tenon::image {

namespace {

struct LibWebP {
  Library library{"libwebp.so.7", "WebP", "libwebp7"};
  int (*info)(const std::uint8_t*, std::size_t, int* width, int* height) = library["WebPGetInfo"];
  std::uint8_t* (*decode)(const std::uint8_t*, std::size_t, std::uint8_t* to, std::size_t size,
                          int stride) = library["WebPDecodeRGBInto"];
};

}  // namespace

void read_webp(Bytes bytes, const Begin& begin, Image& image) {
  static const LibWebP webp;
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  int width = 0, height = 0;
  if (webp.info(data, bytes.size(), &width, &height) == 0) throw error("the WebP image is damaged, or cut");
  if (!begin({height, width})) return;
  if (!webp.decode(data, bytes.size(), image.pixels.data(), image.pixels.size(), width * 3))
    throw error("the WebP image is damaged, cut, or an animation");
}

}  // namespace tenon::image
