#include "converter/onnx/rotary.h"

#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

Ref rotated(const Ref& x, const Rotation& r) {
  const DType wide = size_of(x.dtype()) < 4 ? DType::f32 : x.dtype();
  const auto beside_heads = [&](const Ref& v) {
    return cast(wide, reshape(v, with_axis(v.shape(), static_cast<std::int64_t>(v.rank()) - 1)));
  };
  const Ref cosines = beside_heads(r.cosines), sines = beside_heads(r.sines);
  const Dim width = x.shape()[3], half = floor_div(r.width, Dim(2));
  const Ref part = cast(wide, r.width == width ? x : slice(x, 3, Dim(0), r.width));
  const Ref a = r.interleaved ? slice(part, 3, Dim(0), r.width, 2) : slice(part, 3, Dim(0), half);
  const Ref b = r.interleaved ? slice(part, 3, Dim(1), r.width, 2) : slice(part, 3, half, r.width);
  Ref real = cosines * a - sines * b, imaginary = sines * a + cosines * b;
  if (r.interleaved) {
    Shape pairs = real.shape();
    pairs.emplace_back(1);
    real = reshape(real, pairs);
    imaginary = reshape(imaginary, pairs);
  }
  Ref y = concat(std::array{real, imaginary}, r.interleaved ? 4 : 3);
  if (r.interleaved) y = reshape(y, part.shape());
  y = cast(x.dtype(), y);
  return r.width == width ? y : concat(std::array{y, slice(x, 3, r.width, width)}, 3);
}

namespace {

/// With heads of [batch, length, heads * width] or [batch, heads, length, width] last but one, and back.
class BesideHeads {
 public:
  BesideHeads(const Ref& given, const Dim& heads) : shape_(given.shape()) {
    if (given.rank() == 3) {
      if (heads == Dim(0)) throw error("num_heads is missing");
      x = reshape(given, {shape_[0], shape_[1], heads, floor_div(shape_[2], heads)});
    } else {
      check_rank("the tensor to rotate", given.type(), 4);
      x = permute(given, {0, 2, 1, 3});
    }
  }
  Ref back(const Ref& y) const { return shape_.size() == 3 ? reshape(y, shape_) : permute(y, {0, 2, 1, 3}); }

  Ref x;

 private:
  Shape shape_;
};

Operands rotary_embedding(Call& call) {
  const BesideHeads beside(call.tensor(0), Dim(call.integer("num_heads", 0)));
  const std::int64_t width = call.integer("rotary_embedding_dim", 0);
  if (width < 0) throw error("its rotary_embedding_dim is {}", width);
  Rotation r{.cosines = call.tensor(1),
             .sines = call.tensor(2),
             .width = width == 0 ? beside.x.shape()[3] : Dim(width),
             .interleaved = call.integer("interleaved", 0) != 0};
  if (call.has(3)) {
    const Ref places = cast(DType::i64, call.tensor(3));
    r.cosines = index_select(r.cosines, 0, places);
    r.sines = index_select(r.sines, 0, places);
  }
  return {beside.back(rotated(beside.x, r))};
}

/// Its tables tell the width; a single position is that of the first place.
Operands rotary_embedding_of_microsoft(Call& call) {
  if (call.integer("is_packed_batching", 0) != 0) throw unsupported("batches that are packed");
  if (call.number("scale", 1) != 1) throw unsupported("a scale of {}", call.number("scale", 1));
  const Ref x = call.tensor(0), cosines = call.tensor(2), sines = call.tensor(3);
  Ref places = cast(DType::i64, call.tensor(1));
  check_rank("cos_cache", cosines.type(), 2);
  const Dim width = cosines.shape()[1] * Dim(2);
  Dim heads(call.integer("num_heads", 0));
  if (heads == Dim(0) && x.rank() == 3) heads = floor_div(x.shape()[2], width);
  const BesideHeads beside(x, heads);
  if (places.rank() < 2)
    places = reshape(places, {Dim(1), Dim(1)}) + iota(beside.x.shape()[1], call.build.insertion_point());
  return {beside.back(rotated(beside.x, {.cosines = index_select(cosines, 0, places),
                                         .sines = index_select(sines, 0, places),
                                         .width = width,
                                         .interleaved = call.integer("interleaved", 0) != 0}))};
}

}  // namespace

std::span<const OnnxEntry> rotary_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"RotaryEmbedding", rotary_embedding},
      OnnxEntry{"com.microsoft.RotaryEmbedding", rotary_embedding_of_microsoft},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
