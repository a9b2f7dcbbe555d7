// JPEG by libjpeg-turbo's TurboJPEG interface.
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/image/formats.h"
#include "base/image/library.h"

namespace tenon::image {

namespace {

struct TurboJpeg {
  Library library{"libturbojpeg.so.0", "JPEG", "libturbojpeg0"};
  void* (*init)() = library["tjInitDecompress"];
  int (*destroy)(void*) = library["tjDestroy"];
  char* (*error_text)(void*) = library["tjGetErrorStr2"];
  int (*header)(void*, const unsigned char*, unsigned long, int* width, int* height, int* subsampling,
                int* colours) = library["tjDecompressHeader3"];
  int (*decompress)(void*, const unsigned char*, unsigned long, unsigned char* to, int width, int pitch,
                    int height, int format, int flags) = library["tjDecompress2"];
};

}  // namespace

void read_jpeg(Bytes bytes, const Begin& begin, Image& image) {
  static const TurboJpeg jpeg;
  constexpr int rgb = 0, limit_scans = 32768;
  const std::unique_ptr<void, int (*)(void*)> handle(jpeg.init(), jpeg.destroy);
  if (!handle) throw error("libjpeg-turbo could not be started");
  const auto check = [&](int result) {
    if (result != 0) throw error("the JPEG image is damaged: {}", jpeg.error_text(handle.get()));
  };
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  check(jpeg.header(handle.get(), data, bytes.size(), &width, &height, &subsampling, &colours));
  if (!begin({height, width})) return;
  check(jpeg.decompress(handle.get(), data, bytes.size(), image.pixels.data(), width, 0, height, rgb,
                        limit_scans));
}

}  // namespace tenon::image
