// Pictures.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// Height and width of the picture whose file x (u8[n]) holds: i64[2].
struct PictureSize : WithReference<1> {
  static constexpr std::string_view name = "picture_size";
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
};

enum class PixelFormat : std::uint8_t { rgb, bgr, grey };
template <>
struct EnumNames<PixelFormat> {
  static constexpr std::array names = {"rgb", "bgr", "grey"};
};
/// The pixels of the picture whose file x (u8[n]) holds: u8[height, width, channels] (base/image/image.h).
/// Grey is 0.299 red + 0.587 green + 0.114 blue. A picture of another size is an error.
struct DecodePicture : WithReference<1> {
  static constexpr std::string_view name = "decode_picture";
  Dim height = 0, width = 0;
  PixelFormat format = PixelFormat::rgb;
  static constexpr auto fields =
      std::tuple{field("height", &DecodePicture::height), field("width", &DecodePicture::width),
                 field("format", &DecodePicture::format)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
};

using Pictures = OpList<PictureSize, DecodePicture>;

}  // namespace tenon
