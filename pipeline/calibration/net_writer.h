// Writes a network of layers with weights of no meaning.
#pragma once
#include <memory>
#include <string>

#include "ir/build.h"
#include "ir/ops/functions.h"

namespace tenon {

struct Filter {
  Axes kernel = {1}, stride = {1}, pad = {0}, dilation = {1};
  std::int64_t groups = 1;
};
/// A square window that keeps the size, but for the stride.
Filter filter(std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1);

/// Layers take what they read and the size of what they write, as PyTorch's do. All of a network's numbers
/// have one dtype.
class NetWriter {
 public:
  explicit NetWriter(std::string_view name, DType dtype = DType::f32);

  Ref input(Shape shape);
  Ref input(Shape shape, DType dtype);
  /// Its numbers spread so that sums over `fan_in` of them stay about as large as what they multiply.
  Ref weight(Shape shape, std::int64_t fan_in = 1);

  Ref conv(const Ref& x, std::int64_t channels, const Filter& w);
  Ref conv_transpose(const Ref& x, std::int64_t channels, const Filter& w);
  Ref linear(const Ref& x, std::int64_t size, bool bias = true);
  Ref layer_norm(const Ref& x);
  Ref rms_norm(const Ref& x);
  Ref group_norm(const Ref& x, std::int64_t groups);
  /// A batch norm that no convolution takes in: x * weight + bias for each channel.
  Ref channel_norm(const Ref& x);
  /// Attention of `heads` over x[N,L,C], which has been normalised, with the layers before and behind it.
  Ref attention(const Ref& x, std::int64_t heads, bool causal = false, const Ref& mask = {});

  std::unique_ptr<Graph> finish(std::initializer_list<Ref> results);

 private:
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<InsertionPoint> point_;  // Refs hold its address
  DType dtype_;
  int inputs_ = 0, weights_ = 0;
};

/// [N,L,C] to [N,heads,L,C/heads], and back.
Ref split_heads(const Ref& x, std::int64_t heads);
Ref join_heads(const Ref& x);
Ref gelu(const Ref& x);
/// Square windows.
Ref avg_pool(const Ref& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad);
/// [N,C,H,W] to [N,H,W,C].
Ref channels_last(const Ref& x);

}  // namespace tenon
