#include "pipeline/calibration/image_nets.h"

#include "ir/ops/activation.h"
#include "ir/ops/interpolate.h"
#include "ir/ops/pool.h"
#include "pipeline/calibration/net_writer.h"

namespace tenon {
namespace {

std::int64_t channels_of(const Ref& x) { return x.shape()[1].value(); }
Ref hardswish(const Ref& x) { return apply(Hardswish{}, {x}); }
Ref relu6(const Ref& x) { return minimum(maximum(x, x.literal(0)), x.literal(6)); }
Ref max_pool(const Ref& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return apply(MaxPool{.kernel = {kernel}, .stride = {stride}, .pad = {pad}}, {x});
}
Ref pooled(const Ref& x) { return apply(AdaptiveAvgPool{.output = {1, 1}}, {x}); }
Ref resized(const Ref& x, InterpolateMode mode, std::int64_t times) {
  const std::int64_t height = x.shape()[2].value() * times, width = x.shape()[3].value() * times;
  return apply(Interpolate{.mode = mode, .output = {height, width}}, {x});
}
Ref classified(NetWriter& net, const Ref& x, std::int64_t classes) {
  return net.linear(reshape(pooled(x), {x.shape()[0], channels_of(x)}), classes);
}
Ref channels_first(const Ref& x) { return permute(x, {0, 3, 1, 2}); }

// Two convolutions of 3x3 and what goes around them.
Ref basic_block(NetWriter& net, const Ref& x, std::int64_t channels, std::int64_t stride) {
  const bool is_same = stride == 1 && channels == channels_of(x);
  const Ref around = is_same ? x : net.conv(x, channels, filter(1, stride));
  return relu(net.conv(relu(net.conv(x, channels, filter(3, stride))), channels, filter(3)) + around);
}

Ref bottleneck(NetWriter& net, const Ref& x, std::int64_t inner, std::int64_t channels, std::int64_t stride,
               std::int64_t groups) {
  const bool is_same = stride == 1 && channels == channels_of(x);
  const Ref around = is_same ? x : net.conv(x, channels, filter(1, stride));
  const Ref narrow = relu(net.conv(x, inner, filter(1)));
  return relu(net.conv(relu(net.conv(narrow, inner, filter(3, stride, groups))), channels, filter(1)) +
              around);
}

// Inverted residuals: wide in the middle, where each channel is convolved alone.
struct MobileStage {
  std::int64_t channels, wider, kernel, stride, blocks;
};

std::unique_ptr<Graph> mobile_net(Ref (*act)(const Ref&), bool excites, std::int64_t side,
                                  std::span<const MobileStage> stages, DType dtype) {
  NetWriter net("mobile", dtype);
  Ref x = act(net.conv(net.input({1, 3, side, side}), 32, filter(3, 2)));
  for (const MobileStage& s : stages)
    for (std::int64_t i = 0; i < s.blocks; ++i) {
      const std::int64_t before = channels_of(x), wide = before * s.wider, stride = i == 0 ? s.stride : 1;
      Ref y = s.wider == 1 ? x : act(net.conv(x, wide, filter(1)));
      y = act(net.conv(y, wide, filter(s.kernel, stride, wide)));
      if (excites)
        y = y * sigmoid(net.conv(relu(net.conv(pooled(y), std::max<std::int64_t>(8, wide / 16), filter(1))),
                                 wide, filter(1)));
      y = net.conv(y, s.channels, filter(1));
      x = stride == 1 && before == s.channels ? y + x : y;
    }
  return net.finish({classified(net, act(net.conv(x, 1280, filter(1))), 1000)});
}

}  // namespace

std::unique_ptr<Graph> residual_net(DType dtype) {
  NetWriter net("residual", dtype);
  Ref x = max_pool(relu(net.conv(net.input({1, 3, 224, 224}), 64, filter(7, 2))), 3, 2, 1);
  for (const std::int64_t channels : {64, 128, 256, 512}) {
    x = basic_block(net, x, channels, channels == 64 ? 1 : 2);
    x = basic_block(net, x, channels, 1);
  }
  return net.finish({classified(net, x, 1000)});
}

std::unique_ptr<Graph> bottleneck_net(std::int64_t side, std::int64_t groups, DType dtype) {
  NetWriter net("bottleneck", dtype);
  Ref x = max_pool(relu(net.conv(net.input({1, 3, side, side}), 64, filter(7, 2))), 3, 2, 1);
  for (const std::int64_t inner : {64, 128, 256, 512}) {
    const std::int64_t wide = groups > 1 ? 2 * inner : inner;
    x = bottleneck(net, x, wide, 4 * inner, inner == 64 ? 1 : 2, groups);
    x = bottleneck(net, x, wide, 4 * inner, 1, groups);
  }
  return net.finish({classified(net, x, 1000)});
}

std::unique_ptr<Graph> mobile_clamped() {
  constexpr MobileStage stages[] = {{16, 1, 3, 1, 1}, {24, 6, 3, 2, 2},  {32, 6, 3, 2, 2}, {64, 6, 3, 2, 2},
                                    {96, 6, 3, 1, 2}, {160, 6, 3, 2, 2}, {320, 6, 3, 1, 1}};
  return mobile_net(relu6, false, 224, stages, DType::f32);
}

std::unique_ptr<Graph> mobile_excited() {
  constexpr MobileStage stages[] = {{16, 1, 3, 1, 1},  {24, 6, 3, 2, 2},  {40, 6, 5, 2, 2}, {80, 6, 3, 2, 2},
                                    {112, 6, 5, 1, 2}, {192, 6, 5, 2, 2}, {320, 6, 3, 1, 1}};
  return mobile_net(silu, true, 224, stages, DType::f32);
}

std::unique_ptr<Graph> mobile_small(DType dtype) {
  constexpr MobileStage stages[] = {{16, 1, 3, 2, 1}, {24, 4, 3, 2, 2}, {40, 4, 5, 2, 3}, {96, 6, 5, 2, 3}};
  return mobile_net(hardswish, true, 160, stages, dtype);
}

// Depthwise 7x7, then a norm and two linear layers over channels.
std::unique_ptr<Graph> modern_net() {
  NetWriter net("modern");
  Ref x = net.conv(net.input({1, 3, 224, 224}), 80, {.kernel = {4, 4}, .stride = {4}});
  x = channels_first(net.layer_norm(channels_last(x)));
  for (const std::int64_t channels : {80, 160, 320, 640}) {
    if (channels != 80) {
      x = channels_first(net.layer_norm(channels_last(x)));
      x = net.conv(x, channels, {.kernel = {2, 2}, .stride = {2}});
    }
    for (int i = 0; i < 2; ++i) {
      const Ref y = net.layer_norm(channels_last(net.conv(x, channels, filter(7, 1, channels))));
      x = x +
          channels_first(net.linear(gelu(net.linear(y, 4 * channels)), channels) * net.weight({channels}));
    }
  }
  return net.finish({classified(net, x, 1000)});
}

// Every layer reads all before it, normalised anew.
std::unique_ptr<Graph> dense_net() {
  NetWriter net("dense");
  Ref x = max_pool(relu(net.conv(net.input({1, 3, 224, 224}), 64, filter(7, 2))), 3, 2, 1);
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < 4; ++i) {
      const Ref y = net.conv(relu(net.channel_norm(x)), 128, filter(1));
      x = concat(std::vector{x, net.conv(relu(y), 48, filter(3))}, 1);
    }
    x = avg_pool(net.conv(relu(net.channel_norm(x)), channels_of(x) / 2, filter(1)), 2, 2, 0);
  }
  return net.finish({classified(net, relu(net.channel_norm(x)), 1000)});
}

// Branches of several kernels beside each other, and channels that change places.
std::unique_ptr<Graph> branches_net() {
  NetWriter net("branches");
  const auto to = [&](const Ref& x, std::int64_t channels, Axes kernel, Axes pad, std::int64_t stride = 1) {
    return relu(
        net.conv(x, channels, {.kernel = std::move(kernel), .stride = {stride}, .pad = std::move(pad)}));
  };
  Ref x = to(to(net.input({1, 3, 224, 224}), 32, {3, 3}, {0}, 2), 64, {3, 3}, {1});
  x = to(to(max_pool(x, 3, 2, 0), 80, {1, 1}, {0}), 192, {3, 3}, {0});
  x = max_pool(x, 3, 2, 0);
  for (int i = 0; i < 2; ++i)
    x = concat(std::vector{to(x, 64, {1, 1}, {0}), to(to(x, 48, {1, 1}, {0}), 64, {5, 5}, {2}),
                           to(to(to(x, 64, {1, 1}, {0}), 96, {3, 3}, {1}), 96, {3, 3}, {1}),
                           to(avg_pool(x, 3, 1, 1), 32, {1, 1}, {0})},
               1);
  x = concat(std::vector{to(x, 384, {3, 3}, {0}, 2), to(to(x, 64, {1, 1}, {0}), 96, {3, 3}, {0}, 2),
                         max_pool(x, 3, 2, 0)},
             1);
  for (int i = 0; i < 2; ++i)
    x = concat(std::vector{to(x, 192, {1, 1}, {0}),
                           to(to(to(x, 128, {1, 1}, {0}), 128, {1, 7}, {0, 3}), 192, {7, 1}, {3, 0}),
                           to(avg_pool(x, 3, 1, 1), 192, {1, 1}, {0})},
               1);
  return net.finish({classified(net, x, 1000)});
}

std::unique_ptr<Graph> shuffled_net() {
  NetWriter net("shuffled");
  Ref x = max_pool(relu(net.conv(net.input({1, 3, 224, 224}), 24, filter(3, 2))), 3, 2, 1);
  for (const std::int64_t half : {58, 116, 232}) {
    const auto shuffled = [&](const Ref& a, const Ref& b) {
      const Ref both = concat(std::vector{a, b}, 1);
      const Dim height = both.shape()[2], width = both.shape()[3];
      return reshape(permute(reshape(both, {1, 2, half, height, width}), {0, 2, 1, 3, 4}),
                     {1, 2 * half, height, width});
    };
    const auto branch = [&](const Ref& y, std::int64_t stride) {
      const Ref wide = relu(net.conv(y, half, filter(1)));
      return relu(net.conv(net.conv(wide, half, filter(3, stride, half)), half, filter(1)));
    };
    const Ref lower = net.conv(x, channels_of(x), filter(3, 2, channels_of(x)));
    x = shuffled(relu(net.conv(lower, half, filter(1))), branch(x, 2));
    for (int i = 0; i < 3; ++i) x = shuffled(slice(x, 1, 0, half), branch(slice(x, 1, half, 2 * half), 1));
  }
  return net.finish({classified(net, relu(net.conv(x, 1024, filter(1))), 1000)});
}

// Down and up again; the way up by transposed convolutions, or by larger images.
std::unique_ptr<Graph> up_and_down_net(bool transposes) {
  NetWriter net("up_and_down");
  const auto twice = [&](const Ref& x, std::int64_t channels) {
    return relu(net.conv(relu(net.conv(x, channels, filter(3))), channels, filter(3)));
  };
  std::vector<Ref> beside;
  Ref x = net.input({1, 3, 192, 192});
  for (const std::int64_t channels : {24, 48, 96}) {
    beside.push_back(twice(x, channels));
    x = max_pool(beside.back(), 2, 2, 0);
  }
  x = twice(x, 192);
  for (; !beside.empty(); beside.pop_back()) {
    const std::int64_t channels = channels_of(beside.back());
    const InterpolateMode mode = channels == 48 ? InterpolateMode::nearest : InterpolateMode::linear;
    x = transposes ? net.conv_transpose(x, channels, {.kernel = {2, 2}, .stride = {2}}) : resized(x, mode, 2);
    x = twice(concat(std::vector{beside.back(), x}, 1), channels);
  }
  return net.finish({softmax(net.conv(x, 21, filter(1)), 1)});
}

// Images into other ones: large kernels at full size, norms of each image, pixels out of channels.
std::unique_ptr<Graph> picture_net() {
  NetWriter net("picture");
  const auto normed = [&](const Ref& x) { return relu(net.group_norm(x, channels_of(x))); };
  Ref x = normed(net.conv(net.input({1, 3, 128, 128}), 32, filter(9)));
  x = normed(net.conv(x, 64, filter(3, 2)));
  x = normed(net.conv(x, 128, filter(3, 2)));
  x = x + net.conv(normed(net.conv(x, 128, filter(3))), 128, filter(3));
  x = net.group_norm(silu(net.group_norm(x, 32)), 16);
  x = normed(net.conv(resized(x, InterpolateMode::nearest, 2), 64, filter(3)));
  const Ref p = apply(Prelu{}, {net.conv(x, 48, filter(5)), net.weight({48, 1, 1})});
  const Ref q = net.conv(p, 48, filter(3));
  x = reshape(permute(reshape(q, {1, 12, 2, 2, 64, 64}), {0, 1, 4, 2, 5, 3}), {1, 12, 128, 128});
  return net.finish({tanh(net.conv(x, 3, filter(9)))});
}

std::unique_ptr<Graph> volume_net() {
  NetWriter net("volume");
  const auto solid = [&](const Ref& x, std::int64_t channels, Axes kernel, Axes pad, Axes stride) {
    return relu(net.conv(x, channels,
                         {.kernel = std::move(kernel), .stride = std::move(stride), .pad = std::move(pad)}));
  };
  Ref x = solid(net.input({1, 3, 8, 112, 112}), 45, {1, 7, 7}, {0, 3, 3}, {1, 2, 2});
  x = solid(x, 64, {3, 1, 1}, {1, 0, 0}, {1, 1, 1});
  x = solid(apply(MaxPool{.kernel = {2}, .stride = {2}}, {x}), 64, {3, 3, 3}, {1}, {1});
  x = solid(x, 128, {3, 3, 3}, {1}, {2});
  x = solid(x, 128, {3, 3, 3}, {1}, {1});
  return net.finish({mean(x, {2, 3, 4})});
}

// Pools in place of attention, scaled ways around, and what stays a loop.
std::unique_ptr<Graph> pooling_net() {
  NetWriter net("pooling");
  Ref x = net.conv(net.input({1, 3, 224, 224}), 64, {.kernel = {7, 7}, .stride = {4}, .pad = {2}});
  for (const std::int64_t channels : {64, 128, 320}) {
    if (channels != 64) x = net.conv(x, channels, filter(3, 2));
    const Ref y = net.group_norm(x, 1);
    x = x + (avg_pool(y, 3, 1, 1) - y) * net.weight({channels, 1, 1});
    const Ref inner = gelu(net.conv(net.group_norm(x, 1), 4 * channels, filter(1)));
    x = x + net.conv(inner, channels, filter(1)) * net.weight({channels, 1, 1});
  }
  const Ref spread = sqrt(mean(x * x, {2, 3}, true)), share = spread / (mean(spread, {1}, true) + 1e-6);
  return net.finish({mean(x * share * net.weight({320, 1, 1}) + x, {2, 3})});
}

}  // namespace tenon
