// Pictures in files of common formats, as pixels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

struct ImageSize {
  std::int64_t height = 0, width = 0;
};

/// Row by row from the top, three bytes a pixel: red, green, blue.
struct Image {
  ImageSize size;
  std::vector<std::uint8_t> pixels;
};

/// Larger pictures are refused before their pixels are read.
constexpr std::int64_t most_pixels = std::int64_t{1} << 26;

/// BMP and PNM are read here; JPEG, PNG, WebP, TIFF and JPEG 2000 by libraries that are loaded when a file
/// needs them. Grey is spread over the three colours, alpha is left out, 16 bits become their upper 8. Throws
/// Error when the bytes are damaged, the format is not known, or its library is not installed.
ImageSize image_size(std::span<const std::byte>);
Image decode_image(std::span<const std::byte>);

}  // namespace tenon
