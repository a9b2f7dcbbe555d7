// Pictures in files.
#include "ir/ops/image.h"

#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

Operands decode(Call& call) {
  const std::string text = call.text("pixel_format", "RGB");
  DecodePicture op;
  if (text == "BGR")
    op.format = PixelFormat::bgr;
  else if (text == "Grayscale")
    op.format = PixelFormat::grey;
  else if (text != "RGB")
    throw error("its pixel_format is '{}', not RGB, BGR or Grayscale", text);
  const Ref file = call.tensor(0);
  const Ref size = tenon::apply(PictureSize{}, {file});
  const auto number = [&](std::int64_t i) {
    return call.build.data_size(reshape(slice(size, 0, Dim(i), Dim(i + 1)), {}));
  };
  op.height = number(0);
  op.width = number(1);
  return {tenon::apply(op, {file})};
}

}  // namespace

std::span<const OnnxEntry> image_entries() {
  static constexpr std::array entries = {OnnxEntry{"ImageDecoder", decode}};
  return entries;
}

}  // namespace tenon::converter::onnx
