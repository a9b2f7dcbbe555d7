// References of the operators on pictures.
#include "base/error.h"
#include "base/image/image.h"
#include "ir/ops/image.h"

namespace tenon {

namespace {

std::span<const std::byte> bytes_of(const Tensor& dense) {
  return {dense.bytes(), static_cast<std::size_t>(dense.numel())};
}

/// In 16 bits behind the point, as Pillow rounds it.
std::uint8_t grey_of(const std::uint8_t* rgb) {
  constexpr std::uint32_t red = 19595, green = 38470, blue = 7471, half = 0x8000;
  return static_cast<std::uint8_t>((rgb[0] * red + rgb[1] * green + rgb[2] * blue + half) >> 16);
}

}  // namespace

void PictureSize::reference(InSpan in, OutSpan out) const {
  const Tensor file = in[0].contiguous();
  const ImageSize size = image_size(bytes_of(file));
  out[0].mutable_data<std::int64_t>()[0] = size.height;
  out[0].mutable_data<std::int64_t>()[1] = size.width;
}

void DecodePicture::reference(InSpan in, OutSpan out) const {
  const Tensor file = in[0].contiguous();
  const Image image = decode_image(bytes_of(file));
  if (Dim(image.size.height) != height || Dim(image.size.width) != width)
    throw error("the picture has {} x {} pixels, not {} x {}", image.size.width, image.size.height,
                width.str(), height.str());
  auto* to = out[0].mutable_data<std::uint8_t>();
  const std::uint8_t* pixel = image.pixels.data();
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) switch (format) {
      case PixelFormat::rgb: *to++ = pixel[i], *to++ = pixel[i + 1], *to++ = pixel[i + 2]; break;
      case PixelFormat::bgr: *to++ = pixel[i + 2], *to++ = pixel[i + 1], *to++ = pixel[i]; break;
      case PixelFormat::grey: *to++ = grey_of(pixel + i); break;
    }
}

}  // namespace tenon
