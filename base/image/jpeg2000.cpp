// JPEG 2000 by OpenJPEG.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/image/formats.h"
#include "base/image/library.h"

namespace tenon::image {

namespace {

/// opj_image_comp_t and opj_image_t of OpenJPEG 2.
struct Component {
  std::uint32_t dx, dy, width, height, x0, y0, precision, bpp, is_signed, resolutions, factor;
  std::int32_t* data;
  std::uint16_t alpha;
};
struct Picture {
  std::uint32_t x0, y0, x1, y1, count;
  std::int32_t colour_space;
  Component* components;
};

struct File {
  Bytes bytes;
  std::size_t at = 0;

  static std::size_t read(void* to, std::size_t size, void* self) {
    auto& file = *static_cast<File*>(self);
    const std::size_t count = std::min(size, file.bytes.size() - file.at);
    if (count == 0) return static_cast<std::size_t>(-1);
    std::memcpy(to, file.bytes.data() + file.at, count);
    file.at += count;
    return count;
  }
  static std::int64_t skip(std::int64_t by, void* self) {
    auto& file = *static_cast<File*>(self);
    const auto here = static_cast<std::int64_t>(file.at), end = static_cast<std::int64_t>(file.bytes.size());
    const std::int64_t to = by > end - here ? end : std::max<std::int64_t>(here + by, 0);
    file.at = static_cast<std::size_t>(to);
    return by != 0 && to == here ? -1 : to - here;
  }
  static int seek(std::int64_t to, void* self) {
    auto& file = *static_cast<File*>(self);
    if (to < 0 || static_cast<std::size_t>(to) > file.bytes.size()) return 0;
    file.at = static_cast<std::size_t>(to);
    return 1;
  }
};

struct OpenJpeg {
  Library library{"libopenjp2.so.7", "JPEG 2000", "libopenjp2-7"};
  void* (*create)(int format) = library["opj_create_decompress"];
  void (*destroy)(void* codec) = library["opj_destroy_codec"];
  void (*defaults)(void* parameters) = library["opj_set_default_decoder_parameters"];
  int (*setup)(void* codec, void* parameters) = library["opj_setup_decoder"];
  void* (*stream)(int is_input) = library["opj_stream_default_create"];
  void (*destroy_stream)(void*) = library["opj_stream_destroy"];
  void (*user)(void* stream, void* data, void (*free)(void*)) = library["opj_stream_set_user_data"];
  void (*length)(void* stream, std::uint64_t) = library["opj_stream_set_user_data_length"];
  void (*on_read)(void* stream,
                  std::size_t (*)(void*, std::size_t, void*)) = library["opj_stream_set_read_function"];
  void (*on_skip)(void* stream,
                  std::int64_t (*)(std::int64_t, void*)) = library["opj_stream_set_skip_function"];
  void (*on_seek)(void* stream, int (*)(std::int64_t, void*)) = library["opj_stream_set_seek_function"];
  int (*header)(void* stream, void* codec, Picture**) = library["opj_read_header"];
  int (*decode)(void* codec, void* stream, Picture*) = library["opj_decode"];
  void (*destroy_picture)(Picture*) = library["opj_image_destroy"];
};

/// A sample in 8 bits.
std::uint8_t byte_of(const Component& c, std::size_t i) {
  const std::int64_t value =
      std::int64_t{c.data[i]} + (c.is_signed ? std::int64_t{1} << (c.precision - 1) : 0);
  const std::int64_t most = (std::int64_t{1} << c.precision) - 1;
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, most) * 255 / most);
}

}  // namespace

void read_jpeg2000(Bytes bytes, const Begin& begin, Image& image) {
  static const OpenJpeg jpeg;
  enum Format : int { codestream = 0, jp2 = 2 };
  constexpr std::int32_t ycc = 3, extended_ycc = 4, cmyk = 5;
  const auto check = [](bool is_fine) {
    if (!is_fine) throw error("the JPEG 2000 image is damaged, or cut");
  };
  const std::unique_ptr<void, void (*)(void*)> codec(
      jpeg.create(bytes[0] == std::byte{0xff} ? codestream : jp2), jpeg.destroy);
  const std::unique_ptr<void, void (*)(void*)> stream(jpeg.stream(1), jpeg.destroy_stream);
  alignas(16) std::array<std::byte, 32768> parameters{};  // opj_dparameters_t: two paths and a few numbers
  jpeg.defaults(parameters.data());
  check(codec && stream && jpeg.setup(codec.get(), parameters.data()) != 0);
  File file{bytes};
  jpeg.user(stream.get(), &file, nullptr);
  jpeg.length(stream.get(), bytes.size());
  jpeg.on_read(stream.get(), File::read);
  jpeg.on_skip(stream.get(), File::skip);
  jpeg.on_seek(stream.get(), File::seek);
  Picture* found = nullptr;
  const bool has_header = jpeg.header(stream.get(), codec.get(), &found) != 0;
  const std::unique_ptr<Picture, void (*)(Picture*)> picture(found, jpeg.destroy_picture);
  check(has_header && picture && picture->x1 > picture->x0 && picture->y1 > picture->y0);
  const std::uint32_t width = picture->x1 - picture->x0, height = picture->y1 - picture->y0;
  if (!begin({height, width})) return;
  check(jpeg.decode(codec.get(), stream.get(), picture.get()) != 0 && picture->count > 0);
  if (picture->colour_space == ycc || picture->colour_space == extended_ycc || picture->colour_space == cmyk)
    throw unsupported("a JPEG 2000 image in another colour space than RGB or grey").hint("save it as PNG");
  for (std::uint32_t c = 0; c < picture->count; ++c) {
    const Component& part = picture->components[c];
    if (!part.data || part.width != width || part.height != height || part.precision < 1 ||
        part.precision > 31)
      throw unsupported("a JPEG 2000 image whose colours have sizes of their own").hint("save it as PNG");
  }
  const std::size_t colours = picture->count < 3 ? 1 : 3;
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = byte_of(picture->components[colours == 1 ? 0 : i % 3], i / 3);
}

}  // namespace tenon::image
