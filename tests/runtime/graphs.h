// Small graphs in the shapes of real models.
#pragma once

namespace tenon::testing {

inline constexpr const char* residual_net = R"(graph residual_net(%x: f32[N,3,20,20]) {
  @stem.weight : f32[16,3,3,3]
  @bn.mean : f32[16]
  @bn.var : f32[16]
  @bn.weight : f32[16]
  @bn.bias : f32[16]
  @a.weight : f32[16,16,3,3]
  @a.bias : f32[16]
  @b.weight : f32[16,16,1,1]
  @down.weight : f32[24,16,3,3]
  @fc.weight : f32[10,24]
  @fc.bias : f32[10]
  %1 = conv(%x, @stem.weight, pad=1) : f32[N,16,20,20]
  %2 = batch_norm(%1, @bn.mean, @bn.var, @bn.weight, @bn.bias) : f32[N,16,20,20]
  %3 = relu(%2) : f32[N,16,20,20]
  %4 = max_pool(%3, kernel=3, stride=2, pad=1) : f32[N,16,10,10]
  %5 = fused conv(%4, @a.weight, @a.bias, pad=1) { relu } : f32[N,16,10,10]
  %6 = fused conv(%5, @b.weight) { add(_, %4); relu } : f32[N,16,10,10]
  %7 = fused conv(%6, @down.weight, stride=2, pad=1) { silu } : f32[N,24,5,5]
  %8 = adaptive_avg_pool(%7, output=[1,1]) : f32[N,24,1,1]
  %9 = reshape(%8, shape=[N,24]) : f32[N,24]
  %10 = linear(%9, @fc.weight, @fc.bias) : f32[N,10]
  return %10
}
)";

inline constexpr const char* u_net = R"(graph u_net(%x: f32[N,4,16,16]) {
  @e1.weight : f32[8,4,3,3]
  @e1.bias : f32[8]
  @e2.weight : f32[16,8,3,3]
  @e2.bias : f32[16]
  @up.weight : f32[16,8,2,2]
  @up.bias : f32[8]
  @d1.weight : f32[8,16,3,3]
  @head.weight : f32[1,8,1,1]
  %1 = fused conv(%x, @e1.weight, @e1.bias, pad=1) { relu } : f32[N,8,16,16]
  %2 = max_pool(%1, kernel=2, stride=2) : f32[N,8,8,8]
  %3 = fused conv(%2, @e2.weight, @e2.bias, pad=1) { relu } : f32[N,16,8,8]
  %4 = conv_transpose(%3, @up.weight, @up.bias, stride=2) : f32[N,8,16,16]
  %5 = concat(%4, %1, axis=1) : f32[N,16,16,16]
  %6 = fused conv(%5, @d1.weight, pad=1) { relu } : f32[N,8,16,16]
  %7 = fused conv(%6, @head.weight) { sigmoid } : f32[N,1,16,16]
  return %7
}
)";

inline constexpr const char* transformer = R"(graph transformer(%ids: i64[N,seq], %mask: bool[N,1,1,seq]) {
  @embed : f32[11,32]
  @qkv.weight : f32[96,32]
  @qkv.bias : f32[96]
  @out.weight : f32[32,32]
  @ln.weight : f32[32]
  @ln.bias : f32[32]
  @up.weight : f32[64,32]
  @up.bias : f32[64]
  @down.weight : f32[32,64]
  %1 = index_select(@embed, %ids, axis=0) : f32[N,seq,32]
  %2 = linear(%1, @qkv.weight, @qkv.bias) : f32[N,seq,96]
  %3 = slice(%2, axis=2, start=0, end=32) : f32[N,seq,32]
  %4 = slice(%2, axis=2, start=32, end=64) : f32[N,seq,32]
  %5 = slice(%2, axis=2, start=64, end=96) : f32[N,seq,32]
  %6 = reshape(%3, shape=[N,seq,4,8]) : f32[N,seq,4,8]
  %7 = permute(%6, axes=[0,2,1,3]) : f32[N,4,seq,8]
  %8 = reshape(%4, shape=[N,seq,4,8]) : f32[N,seq,4,8]
  %9 = permute(%8, axes=[0,2,1,3]) : f32[N,4,seq,8]
  %10 = reshape(%5, shape=[N,seq,4,8]) : f32[N,seq,4,8]
  %11 = permute(%10, axes=[0,2,1,3]) : f32[N,4,seq,8]
  %12 = attention(%7, %9, %11, %mask) : f32[N,4,seq,8]
  %13 = permute(%12, axes=[0,2,1,3]) : f32[N,seq,4,8]
  %14 = reshape(%13, shape=[N,seq,32]) : f32[N,seq,32]
  %15 = fused linear(%14, @out.weight) { add(_, %1) } : f32[N,seq,32]
  %16 = layer_norm(%15, @ln.weight, @ln.bias) : f32[N,seq,32]
  %17 = fused linear(%16, @up.weight, @up.bias) { gelu } : f32[N,seq,64]
  %18 = fused linear(%17, @down.weight) { add(_, %16) } : f32[N,seq,32]
  %19 = mean(%18, axes=[1]) : f32[N,32]
  return %18 as "hidden", %19 as "pooled"
}
)";

}  // namespace tenon::testing
