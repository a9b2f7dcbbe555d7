#include "pipeline/calibration/token_nets.h"

#include "ir/ops/attention.h"
#include "ir/ops/sort.h"
#include "pipeline/calibration/net_writer.h"

namespace tenon {
namespace {

Ref rolled(const Ref& x, std::int64_t axis, std::int64_t by) {
  const Dim size = x.shape()[static_cast<std::size_t>(axis)];
  return concat(std::vector{slice(x, axis, by, size), slice(x, axis, 0, by)}, axis);
}

}  // namespace

std::unique_ptr<Graph> encoder_net(std::int64_t batch, std::int64_t length, std::int64_t channels,
                                   std::int64_t heads, bool normalises_first, DType dtype) {
  NetWriter net("encoder", dtype);
  Ref x = net.input({batch, length, channels});
  for (int i = 0; i < 3; ++i) {
    if (normalises_first) {
      x = x + net.attention(net.layer_norm(x), heads);
      x = x + net.linear(gelu(net.linear(net.layer_norm(x), 4 * channels)), channels);
    } else {
      x = net.layer_norm(x + net.attention(x, heads));
      x = net.layer_norm(x + net.linear(gelu(net.linear(x, 4 * channels)), channels));
    }
  }
  return net.finish({x});
}

// Tokens read at once, with half-turned positions, root mean squares and gates.
std::unique_ptr<Graph> reader_net(DType dtype) {
  NetWriter net("reader", dtype);
  constexpr std::int64_t length = 96, channels = 512, heads = 8, size = channels / heads;
  Ref x = net.input({1, length, channels});
  const Ref cosines = net.weight({length, size}), sines = net.weight({length, size});
  for (int i = 0; i < 2; ++i) {
    const Ref normed = net.rms_norm(x);
    const auto of_heads = [&] { return split_heads(net.linear(normed, channels, false), heads); };
    const auto turned = [&](const Ref& y) {
      const Ref half = concat(std::vector{-slice(y, 3, size / 2, size), slice(y, 3, 0, size / 2)}, 3);
      return y * cosines + half * sines;
    };
    const Ref q = turned(of_heads()), k = turned(of_heads()), v = of_heads();
    x = x + net.linear(join_heads(apply(Attention{.causal = true}, {q, k, v})), channels, false);
    const Ref z = net.rms_norm(x);
    x = x + net.linear(silu(net.linear(z, 1376, false)) * net.linear(z, 1376, false), channels, false);
  }
  return net.finish({net.linear(slice(net.rms_norm(x), 1, length - 1, length), 8000, false)});
}

// One token, behind others whose keys and values are kept.
std::unique_ptr<Graph> writer_net(DType dtype) {
  NetWriter net("writer", dtype);
  constexpr std::int64_t before = 200, channels = 512, heads = 8, size = channels / heads;
  Ref x = net.input({1, 1, channels});
  std::vector<Ref> kept;
  for (int i = 0; i < 4; ++i) {
    const Ref normed = net.layer_norm(x);
    const auto of_heads = [&] { return split_heads(net.linear(normed, channels), heads); };
    const Ref q = of_heads();
    const Ref k = concat(std::vector{net.input({1, heads, before, size}), of_heads()}, 2);
    const Ref v = concat(std::vector{net.input({1, heads, before, size}), of_heads()}, 2);
    x = x + net.linear(join_heads(apply(Attention{}, {q, k, v})), channels);
    x = x + net.linear(gelu(net.linear(net.layer_norm(x), 4 * channels)), channels);
    kept.insert(kept.end(), {k, v});
  }
  return net.finish({net.linear(x, 16000, false), kept[0], kept[1], kept[6], kept[7]});
}

// Attention within windows of an image, with a bias for each place, every second time shifted.
std::unique_ptr<Graph> window_net() {
  NetWriter net("windows");
  Ref x = channels_last(net.conv(net.input({1, 3, 224, 224}), 96, {.kernel = {4, 4}, .stride = {4}}));
  for (const std::int64_t channels : {96, 192}) {
    const std::int64_t side = x.shape()[1].value(), count = side / 7, heads = channels / 32;
    for (int i = 0; i < 2; ++i) {
      Ref y = net.layer_norm(x);
      if (i == 1) y = rolled(rolled(y, 1, 3), 2, 3);
      y = permute(reshape(y, {1, count, 7, count, 7, channels}), {0, 1, 3, 2, 4, 5});
      y = net.attention(reshape(y, {count * count, 49, channels}), heads, false,
                        net.weight({1, heads, 49, 49}));
      y = permute(reshape(y, {1, count, count, 7, 7, channels}), {0, 1, 3, 2, 4, 5});
      y = reshape(y, {1, side, side, channels});
      if (i == 1) y = rolled(rolled(y, 1, side - 3), 2, side - 3);
      x = x + y;
      x = x + net.linear(gelu(net.linear(net.layer_norm(x), 4 * channels)), channels);
    }
    std::vector<Ref> corners;
    for (const std::int64_t column : {0, 1})
      for (const std::int64_t row : {0, 1})
        corners.push_back(slice(slice(x, 1, row, side, 2), 2, column, side, 2));
    x = net.linear(net.layer_norm(concat(corners, 3)), 2 * channels, false);
  }
  return net.finish({x});
}

// Scores as products with a softmax between, over tokens and over channels; layers across tokens.
std::unique_ptr<Graph> products_net() {
  NetWriter net("products");
  Ref x = net.input({1, 196, 256});
  constexpr std::int64_t heads = 8, size = 32, length = 196;
  const auto of_heads = [&](const Ref& y) { return split_heads(net.linear(y, heads * size), heads); };
  for (int i = 0; i < 2; ++i) {
    const Ref y = net.layer_norm(x);
    const Ref scores = matmul(of_heads(y), transpose(of_heads(y), 2, 3)) * 0.2;
    const Ref mixed =
        matmul(softmax(scores + net.weight({heads, length, length}), 3), net.weight({heads, length, length}));
    x = x + net.linear(join_heads(matmul(mixed, of_heads(y))), 256);
    const Ref z = net.layer_norm(x);
    const Ref across = matmul(transpose(of_heads(z), 2, 3), of_heads(z));
    x = x + join_heads(transpose(matmul(softmax(across, 3), transpose(of_heads(z), 2, 3)), 2, 3));
    const Ref t = transpose(net.layer_norm(x), 1, 2);
    x = x + transpose(net.linear(gelu(net.linear(t, 384)), length), 1, 2);
  }
  return net.finish({mean(x, {1})});
}

// Along a line: strided and dilated convolutions, gates, a recurrent layer of a few steps.
std::unique_ptr<Graph> sound_net() {
  NetWriter net("sound");
  const auto line = [&](const Ref& x, std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                        std::int64_t pad, std::int64_t dilation, std::int64_t groups) {
    return net.conv(
        x, channels,
        {.kernel = {kernel}, .stride = {stride}, .pad = {pad}, .dilation = {dilation}, .groups = groups});
  };
  Ref x = gelu(net.group_norm(line(net.input({1, 1, 8000}), 256, 10, 5, 0, 1, 1), 256));
  x = gelu(line(x, 256, 3, 2, 0, 1, 1));
  for (const std::int64_t dilation : {1, 2, 4}) {
    const Ref y = line(x, 512, 3, 1, dilation, dilation, 1);
    const std::int64_t length = y.shape()[2].value();
    const Ref gated = tanh(slice(y, 1, 0, 256)) * sigmoid(slice(y, 1, 256, 512));
    x = slice(x, 2, 0, length) + line(gated, 256, 1, 1, 0, 1, 1);
  }
  x = relu(line(line(x, 256, 15, 1, 7, 1, 256), 192, 1, 1, 0, 1, 1));
  x = permute(avg_pool(x, 8, 8, 0), {0, 2, 1});
  const Ref gates = net.linear(x, 768), recurrent = net.weight({768, 256}, 256), bias = net.weight({768});
  Ref state = net.input({1, 256});
  std::vector<Ref> states;
  for (std::int64_t step = 0; step < 24; ++step) {
    const Ref given = reshape(slice(gates, 1, step, step + 1), {1, 768}),
              own = linear(state, recurrent, bias);
    const auto part = [](const Ref& y, std::int64_t i) { return slice(y, 1, 256 * i, 256 * (i + 1)); };
    const Ref reset = sigmoid(part(given, 0) + part(own, 0)), keep = sigmoid(part(given, 1) + part(own, 1));
    const Ref fresh = tanh(part(given, 2) + reset * part(own, 2));
    state = fresh + keep * (state - fresh);
    states.push_back(reshape(state, {1, 1, 256}));
  }
  return net.finish({net.linear(concat(states, 1), 64)});
}

// Few rows, and weights that are larger than caches.
std::unique_ptr<Graph> perceptron_net(std::int64_t rows, DType dtype) {
  NetWriter net("perceptron", dtype);
  const Ref x = relu(net.linear(relu(net.linear(net.input({rows, 1024}), 2048)), 2048));
  return net.finish({softmax(net.linear(relu(net.linear(x, 512)), 100), 1)});
}

// Rows that are looked up, summed where indices say, ordered.
std::unique_ptr<Graph> places_net() {
  NetWriter net("places");
  const Ref tokens = net.input({1, 256}, DType::i64);
  const Ref found = net.layer_norm(index_select(net.weight({8000, 256}), 0, reshape(tokens, {256})));
  const Ref from = net.input({6000}, DType::i64), to = net.input({6000}, DType::i64);
  const Ref nodes = net.linear(found, 64), messages = index_select(nodes, 0, from);
  const Ref summed = index_add(net.weight({256, 64}), 0, to, relu(messages));
  const Ref scores = net.linear(relu(summed), 400);
  const std::vector<Ref> best = apply_all(TopK{.k = 5, .axis = 1}, std::vector{scores});
  const std::vector<Ref> ordered = apply_all(Sort{.axis = 1}, std::vector{scores});
  return net.finish({best[0], ordered[0], cumsum(scores, 1), amax(scores, {0})});
}

}  // namespace tenon
