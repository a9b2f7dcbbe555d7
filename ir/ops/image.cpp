#include "ir/ops/image.h"

#include "base/error.h"
#include "ir/read_definition.h"

namespace tenon {

namespace {

void check_file(const Type& x) {
  if (x.dtype != DType::u8 || x.rank() != 1) throw error("the file of a picture is {}, not u8[n]", x.str());
}

}  // namespace

Type PictureSize::infer(const Type& x) const {
  check_file(x);
  return {DType::i64, {Dim(2)}};
}

Type DecodePicture::infer(const Type& x) const {
  check_file(x);
  return {DType::u8, {height, width, Dim(format == PixelFormat::grey ? 1 : 3)}};
}

std::vector<const OpInfo*> image_ops() { return family(Pictures{}); }

}  // namespace tenon
