// TIFF by libtiff, from memory.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/image/formats.h"
#include "base/image/library.h"

namespace tenon::image {

namespace {

/// The bytes as libtiff reads them.
struct TiffFile {
  Bytes bytes;
  std::uint64_t at = 0;

  static std::ptrdiff_t read(void* self, void* to, std::ptrdiff_t size) {
    auto& file = *static_cast<TiffFile*>(self);
    if (size < 0 || file.at >= file.bytes.size()) return 0;
    const std::size_t count =
        std::min<std::size_t>(static_cast<std::size_t>(size), file.bytes.size() - file.at);
    std::memcpy(to, file.bytes.data() + file.at, count);
    file.at += count;
    return static_cast<std::ptrdiff_t>(count);
  }
  static std::ptrdiff_t write(void*, void*, std::ptrdiff_t) { return 0; }
  static std::uint64_t seek(void* self, std::uint64_t to, int whence) {
    auto& file = *static_cast<TiffFile*>(self);
    file.at = to + (whence == SEEK_CUR ? file.at : whence == SEEK_END ? file.bytes.size() : 0);
    return file.at;
  }
  static int close(void*) { return 0; }
  static std::uint64_t size(void* self) { return static_cast<TiffFile*>(self)->bytes.size(); }
};

using Handler = void (*)(const char*, const char*, std::va_list);
using Transfer = std::ptrdiff_t (*)(void*, void*, std::ptrdiff_t);

struct LibTiff {
  Library library{"libtiff.so.6", "TIFF", "libtiff6"};
  Handler (*on_error)(Handler) = library["TIFFSetErrorHandler"];
  Handler (*on_warning)(Handler) = library["TIFFSetWarningHandler"];
  void* (*open)(const char* name, const char* mode, void* file, Transfer read, Transfer write,
                std::uint64_t (*seek)(void*, std::uint64_t, int), int (*close)(void*),
                std::uint64_t (*size)(void*), int (*map)(void*, void**, std::uint64_t*),
                void (*unmap)(void*, void*, std::uint64_t)) = library["TIFFClientOpen"];
  void (*close)(void*) = library["TIFFClose"];
  int (*field)(void*, std::uint32_t tag, ...) = library["TIFFGetField"];
  int (*pixels)(void*, std::uint32_t width, std::uint32_t height, std::uint32_t* to, int orientation,
                int stop_on_error) = library["TIFFReadRGBAImageOriented"];

  LibTiff() { on_error(nullptr), on_warning(nullptr); }
};

}  // namespace

void read_tiff(Bytes bytes, const Begin& begin, Image& image) {
  static const LibTiff tiff;
  constexpr std::uint32_t width_tag = 256, height_tag = 257;
  constexpr int top_left = 1;
  TiffFile file{bytes};
  const std::unique_ptr<void, void (*)(void*)> opened(
      tiff.open("image", "rm", &file, TiffFile::read, TiffFile::write, TiffFile::seek, TiffFile::close,
                TiffFile::size, nullptr, nullptr),
      tiff.close);
  if (!opened) throw error("the TIFF image is damaged, or cut");
  std::uint32_t width = 0, height = 0;
  if (tiff.field(opened.get(), width_tag, &width) == 0 || tiff.field(opened.get(), height_tag, &height) == 0)
    throw error("the TIFF image does not say how large it is");
  if (!begin({height, width})) return;
  std::vector<std::uint32_t> packed(std::size_t{width} * height);
  if (tiff.pixels(opened.get(), width, height, packed.data(), top_left, 1) == 0)
    throw error("the TIFF image is damaged, cut, or of a kind that libtiff does not read");
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(packed[i / 3] >> i % 3 * 8);
}

}  // namespace tenon::image
