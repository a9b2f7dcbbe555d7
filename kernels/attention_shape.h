// What attention computes, for every device.
#pragma once

namespace tenon {

/// Where a [batch, heads, rows, size] tensor lies; the elements of a row are contiguous. Strides count
/// elements.
struct HeadStrides {
  long batch = 0;
  long head = 0;
  long row = 0;
};

/// out[b,h,i] = sum_j softmax_j(capped(scale * <q[b,h,i], k[b,g,j]>) + mask[b,h,i,j]) * v[b,g,j],
/// g = h * kv_heads / heads, capped(x) = softcap * tanh(x / softcap). With a sink the softmax has one score
/// more, sink[h], whose share multiplies nothing.
///
/// The result for a row is exact softmax over all its keys. A row all of whose keys are masked (by false or
/// -inf) is zero, as in PyTorch's operator, unless nan_rows is set; without a mask a row of scores that are
/// all -inf is NaN. Causal means that query i sees keys 0..i.
struct AttentionShape {
  long batch = 1;
  long heads = 1;
  long kv_heads = 1;  // divides heads
  long queries = 0;
  long keys = 0;
  long size = 0;        // of a row of q and k
  long value_size = 0;  // of a row of v and out
  float scale = 1.0f;
  float softcap = 0;  // 0: scores stay as they are
  bool causal = false;
  bool nan_rows = false;  // a row all of whose keys are masked is NaN

  /// Multiply-adds count two; a causal mask halves nothing.
  double flops() const {
    return 2.0 * static_cast<double>(batch * heads * queries * keys) * static_cast<double>(size + value_size);
  }
};

}  // namespace tenon
