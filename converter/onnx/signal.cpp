// Fourier transforms of known length, as products with constant matrices, and causal convolutions with a
// state.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

constexpr std::int64_t longest = 4096;

/// cos(2 pi i k / n) or sin of it, for `rows` frequencies i and n places k.
Ref waves(const Call& call, std::int64_t rows, std::int64_t n, bool is_sine) {
  if (n < 1 || n > longest) throw unsupported("a Fourier transform of length {}", n);
  Tensor t = Tensor::empty(DType::f64, {rows, n});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < n; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
      t.set_double(std::array{i, k}, is_sine ? std::sin(angle) : std::cos(angle));
    }
  return call.build.ref(call.build.graph().add_weight(is_sine ? "sines" : "cosines", std::move(t)));
}

/// Cut or filled with zeros to a size along the last axis.
Ref resized_last(const Ref& x, std::int64_t size) {
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  const Dim& is = x.shape().back();
  if (!is.is_known()) throw unsupported("a Fourier transform along an axis of unknown size ({})", is.str());
  if (is.value() >= size) return is.value() == size ? x : slice(x, last, Dim(0), Dim(size));
  Shape pads(x.rank() * 2, Dim(0));
  pads.back() = Dim(size - is.value());
  return pad(x, pads);
}

struct Complex {
  Ref real, imaginary;  // the second may be missing
};

/// The last axis of 1 or 2 parts, taken apart; the transformed axis goes last.
Complex parts_of(const Ref& x, std::int64_t axis) {
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  const Dim& count = x.shape().back();
  if (!(count == Dim(1) || count == Dim(2)))
    throw unsupported("a last axis of size {} where 1 or 2 is needed", count.str());
  const auto part = [&](std::int64_t i) {
    const Ref one =
        reshape(slice(x, last, Dim(i), Dim(i + 1)), Shape(x.shape().begin(), x.shape().end() - 1));
    return transpose(one, axis, -1);
  };
  return {part(0), count == Dim(2) ? part(1) : Ref()};
}

/// Real and imaginary parts side by side on a new last axis, the transformed axis back in its place.
Ref together(const Complex& c, std::int64_t axis) {
  std::vector<Ref> parts;
  for (const Ref& part : {c.real, c.imaginary}) {
    if (!part) continue;
    const Ref moved = transpose(part, axis, -1);
    Shape shape = moved.shape();
    shape.emplace_back(1);
    parts.push_back(reshape(moved, shape));
  }
  return parts.size() == 1 ? parts[0] : concat(parts, static_cast<std::int64_t>(parts[0].rank()) - 1);
}

/// Along the last axis; `rows` frequencies of n. Sums of many waves are taken in f64, as NumPy does.
Complex fourier_transformed(const Call& call, const Complex& x, std::int64_t rows, std::int64_t n,
                            bool inverse) {
  const DType dtype = x.real.dtype();
  const Ref cosines = waves(call, rows, n, false), sines = waves(call, rows, n, true);
  const double sign = inverse ? 1 : -1;
  const Ref real = cast(DType::f64, x.real);
  Complex y{linear(real, cosines), linear(real, sines) * sign};
  if (x.imaginary) {
    const Ref imaginary = cast(DType::f64, x.imaginary);
    y.real = y.real - linear(imaginary, sines) * sign;
    y.imaginary = y.imaginary + linear(imaginary, cosines);
  }
  const double share = inverse ? 1 / static_cast<double>(n) : 1;
  return {cast(dtype, y.real * share), cast(dtype, y.imaginary * share)};
}

/// Half a spectrum as a whole one: the rest is its mirror image.
Complex mirrored(const Complex& half, std::int64_t n) {
  const auto last = static_cast<std::int64_t>(half.real.rank()) - 1;
  const std::int64_t given = n / 2 + 1;
  const auto rest = [&](const Ref& x) { return flip(slice(x, last, Dim(1), Dim(n - given + 1)), {last}); };
  const Ref real = resized_last(half.real, given);
  const Ref imaginary = half.imaginary ? resized_last(half.imaginary, given) : zeros_like(real);
  if (n - given < 1) return {real, imaginary};
  return {concat(std::array{real, rest(real)}, last), concat(std::array{imaginary, -rest(imaginary)}, last)};
}

Operands dft(Call& call) {
  const Ref x = call.tensor(0);
  const bool inverse = call.integer("inverse", 0) != 0, onesided = call.integer("onesided", 0) != 0;
  std::int64_t axis = call.version < 20 ? call.integer("axis", 1) : call.has(2) ? call.integer(2) : -2;
  axis = normalize_axis(axis, x.rank());
  if (axis + 1 == static_cast<std::int64_t>(x.rank()))
    throw error("its axis is that of the parts of a number");
  Complex parts = parts_of(x, axis);
  const Dim& size = parts.real.shape().back();
  if (!call.has(1) && !size.is_known()) throw unsupported("an axis of unknown size ({})", size.str());
  const std::int64_t n = call.has(1)           ? call.integer(1)
                         : inverse && onesided ? 2 * (size.value() - 1)
                                               : size.value();
  if (n < 1 || n > longest) throw unsupported("a Fourier transform of length {}", n);
  if (inverse && onesided) {
    const Complex y = fourier_transformed(call, mirrored(parts, n), n, n, true);
    return {together({y.real, {}}, axis)};
  }
  parts.real = resized_last(parts.real, n);
  if (parts.imaginary) parts.imaginary = resized_last(parts.imaginary, n);
  return {together(fourier_transformed(call, parts, onesided ? n / 2 + 1 : n, n, inverse), axis)};
}

std::int64_t check_one_axis(const Call& call, const Ref& x, std::size_t rank) {
  if (call.integer("signal_ndim", 1) != 1 || call.integer("normalized", 0) != 0 ||
      call.integer("onesided", 1) != 1)
    throw unsupported("a transform of more than one axis, normalised, or of both sides");
  if (x.rank() < rank) throw error("a tensor of rank {}", x.rank());
  const Dim& size = x.shape()[x.rank() - rank];
  if (!size.is_known()) throw unsupported("an axis of unknown size ({})", size.str());
  return size.value();
}

/// Of real numbers along the last axis; the parts of its result are a new one.
Operands real_transform(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t n = check_one_axis(call, x, 1);
  return {together(fourier_transformed(call, {x, {}}, n / 2 + 1, n, false), -1)};
}
Operands inverse_real_transform(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t n = 2 * (check_one_axis(call, x, 2) - 1);
  const Complex y = fourier_transformed(
      call, mirrored(parts_of(x, static_cast<std::int64_t>(x.rank()) - 2), n), n, n, true);
  return {y.real};
}

/// Frames of a signal [batch, length, 1 or 2], each multiplied by a window and transformed.
Operands stft(Call& call) {
  const Ref signal = call.tensor(0);
  check_rank("signal", signal.type(), 3);
  const std::int64_t step = call.integer(1);
  const Ref window = call.optional_tensor(2);
  const Dim& length = signal.shape()[1];
  if (!length.is_known()) throw unsupported("a signal of unknown length ({})", length.str());
  const Dim frame_dim = call.has(3) ? call.size(3) : window ? window.shape()[0] : length;
  if (!frame_dim.is_known()) throw unsupported("frames of unknown length ({})", frame_dim.str());
  const std::int64_t frame = frame_dim.value();
  if (step < 1 || frame < 1 || frame > length.value())
    throw error("frames of {} elements, {} apart", frame, step);
  const std::int64_t count = 1 + (length.value() - frame) / step;
  Tensor places = Tensor::empty(DType::i64, {count, frame});
  for_each_index(places.shape(),
                 [&](std::span<const std::int64_t> at) { places.set_int(at, at[0] * step + at[1]); });
  const Ref frames_at = call.build.ref(call.build.graph().add_weight("frames", std::move(places)));
  Complex parts = parts_of(signal, 1);  // [batch, length]
  const auto framed = [&](const Ref& x) {
    if (!x) return x;
    const Ref frames = index_select(x, 1, frames_at);
    return window ? frames * window : frames;
  };
  parts = {framed(parts.real), framed(parts.imaginary)};
  const bool onesided = call.integer("onesided", 1) != 0;
  return {together(fourier_transformed(call, parts, onesided ? frame / 2 + 1 : frame, frame, false), 2)};
}

/// Triangular filters on the mel scale.
Operands mel_weight_matrix(Call& call) {
  const std::int64_t bands = call.integer(0), length = call.integer(1), rate = call.integer(2);
  const double low = call.number(3), high = call.number(4);
  const DType dtype = call.dtype("output_datatype", DType::f32);
  const std::int64_t bins = length / 2 + 1;
  if (bands < 1 || length < 1 || rate < 1 || bins * bands > (1 << 24))
    throw error("{} bands of {} places", bands, length);
  const auto to_mel = [](double hertz) { return 2595 * std::log1p(hertz / 700) / std::log(10.0); };
  const double step = (to_mel(high) - to_mel(low)) / static_cast<double>(bands + 2);
  const auto edge = [&](std::int64_t i) {
    const double hertz =
        700 * std::expm1((static_cast<double>(i) * step + to_mel(low)) / 2595 * std::log(10.0));
    const double place = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(place), 0, bins - 1);
  };
  Tensor t = Tensor::zeros(dtype, {bins, bands});
  for (std::int64_t b = 0; b < bands; ++b) {
    const std::int64_t left = edge(b), centre = edge(b + 1), right = edge(b + 2);
    if (centre == left) t.set_double(std::array{centre, b}, 1);
    for (std::int64_t i = left; i <= centre && centre > left; ++i)
      t.set_double(std::array{i, b}, static_cast<double>(i - left) / static_cast<double>(centre - left));
    for (std::int64_t i = centre; i < right; ++i)
      t.set_double(std::array{i, b}, static_cast<double>(right - i) / static_cast<double>(right - centre));
  }
  return {call.values.constant(std::move(t), "mel")};
}

/// A convolution of each channel over the past alone; the last places are kept for the next call.
Operands causal_conv(Call& call) {
  const Ref x = call.tensor(0), weight = call.tensor(1);
  check_rank("input", x.type(), 3);
  check_rank("weight", weight.type(), 3);
  const Dim before = weight.shape()[2] - 1, channels = x.shape()[1];
  if (!before.is_known() || !channels.is_known()) throw unsupported("a kernel of unknown size");
  const Ref past = call.has(3)
                       ? call.tensor(3)
                       : full({x.shape()[0], channels, before}, 0, x.dtype(), call.build.insertion_point());
  const Ref all = before == Dim(0) ? x : concat(std::array{past, x}, 2);
  std::vector<Ref> operands = {all, weight};
  if (call.has(2)) operands.push_back(call.tensor(2));
  const Ref y =
      tenon::apply(Conv{.stride = {1}, .pad = {0}, .dilation = {1}, .groups = channels.value()}, operands);
  const std::string activation = call.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    throw unsupported("the activation {}", activation);
  return {activation == "none" ? y : silu(y), slice(all, 2, all.shape()[2] - before, all.shape()[2])};
}

}  // namespace

std::span<const OnnxEntry> signal_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"CausalConvWithState", causal_conv},
      OnnxEntry{"DFT", dft},
      OnnxEntry{"MelWeightMatrix", mel_weight_matrix},
      OnnxEntry{"STFT", stft},
      OnnxEntry{"com.microsoft.Irfft", inverse_real_transform},
      OnnxEntry{"com.microsoft.Rfft", real_transform},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
