// One reader for each format: what image.cpp chooses from.
#pragma once
#include <functional>

#include "base/image/image.h"

namespace tenon::image {

using Bytes = std::span<const std::byte>;
/// Where the pixels go, once the size is known. False: only the size was asked for.
using Begin = std::function<bool(ImageSize)>;

/// Calls `begin` once, then fills the pixels that it made room for.
void read_bmp(Bytes, const Begin&, Image&);
void read_jpeg(Bytes, const Begin&, Image&);
void read_jpeg2000(Bytes, const Begin&, Image&);
void read_png(Bytes, const Begin&, Image&);
void read_pnm(Bytes, const Begin&, Image&);
void read_tiff(Bytes, const Begin&, Image&);
void read_webp(Bytes, const Begin&, Image&);

}  // namespace tenon::image
