// Fourier transforms, and making complex tensors.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "converter/aten/complex.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "ir/ops/complex.h"
#include "ir/ops/functions.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

using Axes = std::vector<std::int64_t>;

Ref as_real(const Ref& x) {
  if (x.dtype() == DType::f16 || x.dtype() == DType::bf16)
    throw unsupported("a Fourier transform of {}", x.type().str());
  return is_float(x.dtype()) ? x : cast(DType::f32, x);
}
Ref as_complex(const Ref& x) {
  if (is_complex(x.dtype())) return x;
  const Ref real = as_real(x);
  return complex({real, zeros_like(real)});
}
Ref mapped(const Ref& z, auto f) {
  if (!is_complex(z.dtype())) return f(z);
  const Parts p = parts_of(z);
  return complex({f(p.real), f(p.imag)});
}

/// Cut, or filled up with zeros.
Ref resized(const Ref& x, std::int64_t axis, const Dim& size) {
  const Dim own = x.shape()[at(axis)];
  if (own == size) return x;
  return mapped(x, [&](const Ref& part) {
    const Ref cut = slice(part, axis, Dim(0), min(own, size));
    Shape pads(2 * part.rank(), Dim(0));
    pads[part.rank() + at(axis)] = size - min(own, size);
    return pad(cut, pads);
  });
}

Ref transformed(const Ref& z, std::int64_t axis, bool inverse) {
  const auto last = static_cast<std::int64_t>(z.rank()) - 1;
  const Ref y = apply(Fft{.inverse = inverse}, {axis == last ? z : transpose(z, axis, last)});
  return axis == last ? y : transpose(y, axis, last);
}

/// What a transform is divided by: 1, the square root of n, or n.
enum class Scale : std::uint8_t { none, root, all };

Scale scale_of(Call& call, bool inverse) {
  const std::string norm = call.word("norm", "backward");
  if (norm == "ortho") return Scale::root;
  if (norm != "backward" && norm != "forward") throw error("there is no norm \"{}\"", norm);
  return (norm == "backward") == inverse ? Scale::all : Scale::none;
}
Ref scaled(const Ref& z, Scale scale, const Dim& n) {
  if (scale == Scale::none) return z;
  return mapped(z, [&](const Ref& part) {
    const Ref size = dim_value(n, part);
    return part / (scale == Scale::root ? sqrt(size) : size);
  });
}

/// The axes of a transform over several, and the sizes asked for.
struct Extent {
  Axes axes;
  std::vector<Dim> sizes;

  Extent(Call& call, const Ref& x) {
    const bool two = call.name.ends_with("2"), several = two || call.name.ends_with("n");
    std::vector<Dim> wanted;
    if (several && call.has("s")) wanted = call.sizes("s");
    if (!several && call.has("n")) wanted = {call.size("n")};
    if (call.has("dim") || !several)
      axes = call.integers("dim", {-1});
    else
      for (std::size_t i = two ? 2 : wanted.empty() ? x.rank() : wanted.size(); i > 0; --i)
        axes.push_back(-static_cast<std::int64_t>(i));
    for (auto& a : axes) a = normalize_axis(a, x.rank());
    if (axes.empty()) throw unsupported("a Fourier transform over no axes");
    for (std::size_t i = 0; i < axes.size(); ++i)
      sizes.push_back(i < wanted.size() && wanted[i] != Dim(-1) ? wanted[i] : x.shape()[at(axes[i])]);
  }
  Dim count() const { return numel(sizes); }
};

Ref self_of(Call& call) {
  const Ref x = call.tensor("self");
  if (x.rank() == 0) throw error("a Fourier transform of a rank-0 tensor");
  return x;
}

/// Over all axes of the extent, complex to complex, unscaled.
Ref transformed_all(Ref z, const Axes& axes, bool inverse) {
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) z = transformed(z, *a, inverse);
  return z;
}

template <bool inverse>
Results complex_to_complex(Call& call) {
  Ref x = self_of(call);
  const Extent extent(call, x);
  for (std::size_t i = 0; i < extent.axes.size(); ++i) x = resized(x, extent.axes[i], extent.sizes[i]);
  const Ref z = transformed_all(as_complex(x), extent.axes, inverse);
  return scaled(z, scale_of(call, inverse), extent.count());
}

Ref conjugated(const Ref& z) {
  const Parts p = parts_of(z);
  return complex({p.real, -p.imag});
}

/// The first half of the spectrum along an axis.
Ref half_spectrum(const Ref& x, std::int64_t axis) {
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  const Ref y = apply(RealFft{}, {axis == last ? x : transpose(x, axis, last)});
  return axis == last ? y : transpose(y, axis, last);
}

/// rfft, and with `inverse` ihfft.
template <bool inverse>
Results real_to_half(Call& call) {
  Ref x = as_real(self_of(call));
  const Extent extent(call, x);
  for (std::size_t i = 0; i < extent.axes.size(); ++i) x = resized(x, extent.axes[i], extent.sizes[i]);
  const Scale scale = scale_of(call, inverse);
  Ref z = half_spectrum(x, extent.axes.back());
  if (inverse) z = conjugated(z);
  z = transformed_all(z, Axes(extent.axes.begin(), extent.axes.end() - 1), inverse);
  return scaled(z, scale, extent.count());
}

/// The real transform of n numbers of which z holds the first half of the conjugate-symmetric spectrum.
Ref real_transform(const Ref& half, std::int64_t axis, const Dim& n, bool inverse) {
  const Ref resized_half = resized(half, axis, floor_div(n, Dim(2)) + 1);
  const Ref z = inverse ? resized_half : conjugated(resized_half);
  const auto last = static_cast<std::int64_t>(z.rank()) - 1;
  const Ref y = apply(RealOfFft{.n = n}, {axis == last ? z : transpose(z, axis, last)});
  return axis == last ? y : transpose(y, axis, last);
}

/// irfft, and without `inverse` hfft.
template <bool inverse>
Results half_to_real(Call& call) {
  Ref z = as_complex(self_of(call));
  Extent extent(call, z);
  const bool given = call.has("n") || (call.has("s") && call.sizes("s").back() != Dim(-1));
  if (!given) extent.sizes.back() = (z.shape()[at(extent.axes.back())] - 1) * 2;
  if (extent.sizes.back().is_known() && extent.sizes.back().value() < 1)
    throw error("a transform to {} numbers", extent.sizes.back().str());
  const Axes others(extent.axes.begin(), extent.axes.end() - 1);
  for (std::size_t i = 0; i < others.size(); ++i) z = resized(z, others[i], extent.sizes[i]);
  z = transformed_all(z, others, inverse);
  const Ref y = real_transform(z, extent.axes.back(), extent.sizes.back(), inverse);
  return scaled(y, scale_of(call, inverse), extent.count());
}

/// PyTorch's numbers for the scaling of the decomposed operators.
Scale scale_number(Call& call) {
  switch (call.integer("normalization")) {
    case 0: return Scale::none;
    case 1: return Scale::root;
    case 2: return Scale::all;
  }
  throw error("normalization is {}", call.integer("normalization"));
}
Axes axes_of(Call& call, const Ref& x) {
  Axes axes = call.integers("dim");
  for (auto& a : axes) a = normalize_axis(a, x.rank());
  return axes;
}
Dim sizes_product(const Ref& x, const Axes& axes) {
  Dim n(1);
  for (const auto a : axes) n = n * x.shape()[at(a)];
  return n;
}
Results fft_c2c(Call& call) {
  const Ref z = call.tensor("self");
  const Axes axes = axes_of(call, z);
  return scaled(transformed_all(z, axes, !call.flag("forward", true)), scale_number(call),
                sizes_product(z, axes));
}
Results fft_r2c(Call& call) {
  const Ref x = call.tensor("self");
  const Axes axes = axes_of(call, x);
  const Scale scale = scale_number(call);
  if (!call.flag("onesided", true))
    return scaled(transformed_all(as_complex(x), axes, false), scale, sizes_product(x, axes));
  const Ref half = half_spectrum(as_real(x), axes.back());
  return scaled(transformed_all(half, Axes(axes.begin(), axes.end() - 1), false), scale,
                sizes_product(x, axes));
}
Results fft_c2r(Call& call) {
  const Ref z = call.tensor("self");
  const Axes axes = axes_of(call, z), others(axes.begin(), axes.end() - 1);
  const Ref y =
      real_transform(transformed_all(z, others, true), axes.back(), call.size("last_dim_size"), true);
  return scaled(y, scale_number(call), sizes_product(y, axes));
}

/// Frequencies of the bins: k / (n d), the upper half negative, or with `half` those up to n / 2 alone.
template <bool half>
Results frequencies(Call& call) {
  call.ignore({"layout", "device", "pin_memory"});
  const Dim n = call.size("n");
  const DType dtype = call.dtype("dtype").value_or(DType::f32);
  const Ref k = iota(half ? floor_div(n, Dim(2)) + 1 : n, call.build.insertion_point(), DType::i64);
  const Ref size = dim_value(n, k);
  const Ref whole = half ? k : where(k < dim_value(floor_div(n + 1, Dim(2)), k), k, k - size);
  const double d = call.number("d", 1);
  const Ref numbers = cast(dtype, whole);
  if (n.is_known()) return numbers * (1 / (static_cast<double>(n.value()) * d));
  return numbers / (dim_value(n, numbers) * d);
}

/// A sum of cosines over one period: the first factor, minus the second times cos(t), plus the third times
/// cos(2 t); made for one number more when it is periodic.
Ref cosine_window(Call& call, std::array<double, 3> factors) {
  call.ignore({"layout", "device", "pin_memory"});
  const std::int64_t length = call.integer("window_length");
  const DType dtype = call.dtype("dtype").value_or(DType::f32);
  if (length <= 1) return full({Dim(length)}, 1, dtype, call.build.insertion_point());
  const auto intervals = static_cast<double>(call.flag("periodic", true) ? length : length - 1);
  const Ref t =
      iota(Dim(length), call.build.insertion_point(), DType::f64) * (2 * std::numbers::pi / intervals);
  return cast(dtype, cos(t) * -factors[1] + cos(t * 2.0) * factors[2] + factors[0]);
}
Results hann_window(Call& call) { return cosine_window(call, {0.5, 0.5, 0}); }
Results hamming_window(Call& call) {
  return cosine_window(call, {call.number("alpha", 0.54), call.number("beta", 0.46), 0});
}
Results blackman_window(Call& call) { return cosine_window(call, {0.42, 0.5, 0.08}); }

/// A window of n_fft numbers: that of the call, zeros around it, or ones.
Ref window_of(Call& call, std::int64_t n_fft, DType dtype) {
  const std::int64_t length = call.has("win_length") ? call.integer("win_length") : n_fft;
  const Ref given = call.optional_tensor("window");
  if (given && is_complex(given.dtype())) throw unsupported("a complex window");
  const Ref window = given ? cast(dtype, given) : full({Dim(length)}, 1, dtype, call.build.insertion_point());
  if (window.shape()[0] != Dim(length))
    throw error("a window of {} instead of {}", window.shape()[0].str(), length);
  if (length == n_fft) return window;
  const std::int64_t before = (n_fft - length) / 2;
  return pad(window, {Dim(before), Dim(n_fft - length - before)});
}

/// The numbers in the dtype that they and the window of the call have in common.
std::vector<Ref> meet_window(Call& call, std::vector<Ref> numbers) {
  if (const Ref window = call.optional_tensor("window"); window && !is_complex(window.dtype()))
    for (Ref& x : numbers) x = cast(promote_types(x.dtype(), window.dtype()), x);
  return numbers;
}

Ref padded_ends(const Ref& x, std::int64_t by, const std::string& mode) {
  Pad op{.pads = Shape(2 * x.rank(), Dim(0))};
  op.pads[x.rank() - 1] = op.pads.back() = Dim(by);
  if (mode == "reflect")
    op.mode = PadMode::reflect;
  else if (mode == "replicate")
    op.mode = PadMode::replicate;
  else if (mode == "circular")
    op.mode = PadMode::circular;
  else if (mode != "constant")
    throw error("there is no pad_mode \"{}\"", mode);
  return apply(op, {x});
}

/// [N, frames, n_fft] of x[N, length]: windows `hop` apart, weighed. They are read in pieces as long as both
/// allow, each of which lies together.
Ref windows(const Ref& x, const Dim& frames, const Ref& weights, std::int64_t hop) {
  const std::int64_t n_fft = weights.shape()[0].value(), piece = std::gcd(n_fft, hop), count = n_fft / piece;
  const Dim pieces = floor_div(x.shape()[1], Dim(piece));
  const Ref cut = reshape(slice(x, 1, Dim(0), pieces * Dim(piece)), {x.shape()[0], pieces, Dim(piece)});
  const InsertionPoint& point = x.insertion_point();
  const Ref starts = reshape(iota(frames, point) * static_cast<double>(hop / piece), {frames, Dim(1)});
  const Ref read = index_select(cut, 1, starts + iota(Dim(count), point));
  return reshape(read * reshape(weights, {Dim(count), Dim(piece)}), {x.shape()[0], frames, Dim(n_fft)});
}

/// The spectrum of windows of n_fft numbers, hop_length apart: [..., frequency, frame].
Results stft(Call& call) {
  const Ref given = call.tensor("self");
  const bool of_complex = is_complex(given.dtype()), batched = given.rank() == 2;
  std::vector<Ref> parts = {of_complex ? parts_of(given).real : as_real(given)};
  if (of_complex) parts.push_back(parts_of(given).imag);
  parts = meet_window(call, std::move(parts));
  const std::int64_t n_fft = call.integer("n_fft");
  const std::int64_t hop = call.has("hop_length") ? call.integer("hop_length") : n_fft / 4;
  if (call.flag("align_to_window", false)) throw unsupported("stft with align_to_window");
  if (n_fft < 1 || hop < 1) throw error("stft with n_fft={} and hop_length={}", n_fft, hop);
  const std::string pad_mode = call.word("pad_mode", "reflect");
  const bool center = call.overload == "center" && call.flag("center", true);
  const Ref window = window_of(call, n_fft, parts[0].dtype());
  for (Ref& x : parts) {
    if (!batched) x = reshape(x, {Dim(1), x.shape()[0]});
    if (center) x = padded_ends(x, n_fft / 2, pad_mode);
    x = windows(x, floor_div(x.shape()[1] - n_fft, Dim(hop)) + 1, window, hop);
  }
  const bool onesided = call.flag("onesided", !of_complex);
  if (onesided && of_complex) throw error("half of the spectrum of complex numbers");
  Ref z = onesided ? half_spectrum(parts[0], 2)
                   : transformed(of_complex ? complex({parts[0], parts[1]}) : as_complex(parts[0]), 2, false);
  if (call.flag("normalized", false)) z = scaled(z, Scale::root, Dim(n_fft));
  z = transpose(z, 1, 2);
  if (!batched) z = reshape(z, {z.shape()[1], z.shape()[2]});
  if (call.flag("return_complex", true)) return z;
  return run_aten(call.build, "view_as_real", "", {{"self", AbstractValue(call.build.tensor(z))}})[0];
}

/// Frames [N, frames, n_fft] added up, hop apart: [N, length].
Ref overlapped(const Ref& frames, std::int64_t hop) {
  const Dim count = frames.shape()[1], n_fft = frames.shape()[2];
  const Dim length = n_fft + (count - 1) * hop;
  const Ref starts =
      reshape(iota(count, frames.insertion_point()) * static_cast<double>(hop), {count, Dim(1)});
  const Ref places = reshape(starts + iota(n_fft, frames.insertion_point()), {count * n_fft});
  const Ref zero = full({frames.shape()[0], length}, 0, frames.dtype(), frames.insertion_point());
  return index_add(zero, 1, places, reshape(frames, {frames.shape()[0], count * n_fft}));
}

/// The signal whose stft is nearest: the frames' inverse transforms, windowed and added up, over the sum of
/// the squared windows.
Results istft(Call& call) {
  Ref z = as_complex(call.tensor("self"));
  const bool batched = z.rank() == 3;
  if (!batched) z = reshape(z, {Dim(1), z.shape()[0], z.shape()[1]});
  const std::int64_t n_fft = call.integer("n_fft");
  const std::int64_t hop = call.has("hop_length") ? call.integer("hop_length") : n_fft / 4;
  const bool onesided = call.flag("onesided", z.shape()[1] != Dim(n_fft));
  if (n_fft < 1 || hop < 1) throw error("istft with n_fft={} and hop_length={}", n_fft, hop);
  z = transpose(z, 1, 2);
  const Scale scale = call.flag("normalized", false) ? Scale::root : Scale::all;
  const bool to_complex = call.flag("return_complex", false);
  if (to_complex && onesided) throw error("complex numbers of half of a spectrum");
  // Of a whole spectrum PyTorch reads the half that a real signal has.
  if (!onesided && !to_complex) z = slice(z, 2, Dim(0), Dim(n_fft / 2 + 1));
  std::vector<Ref> parts;
  if (to_complex) {
    const Parts frames = parts_of(scaled(transformed(z, 2, true), scale, Dim(n_fft)));
    parts = {frames.real, frames.imag};
  } else {
    parts = {scaled(real_transform(z, 2, Dim(n_fft), true), scale, Dim(n_fft))};
  }
  parts = meet_window(call, std::move(parts));
  const Ref window = window_of(call, n_fft, parts[0].dtype());
  const Ref weight = overlapped(expand(window * window, {Dim(1), parts[0].shape()[1], Dim(n_fft)}), hop);
  const bool center = call.flag("center", true);
  const Dim all = weight.shape()[1], start(center ? n_fft / 2 : 0);
  const Dim end = call.has("length") ? start + call.size("length") : center ? all - n_fft / 2 : all;
  const Dim inside = min(end, all);
  for (Ref& y : parts) {
    y = slice(overlapped(y * window, hop), 1, start, inside) / slice(weight, 1, start, inside);
    if (end != inside) y = pad(y, {Dim(0), Dim(0), Dim(0), end - inside});
    if (!batched) y = reshape(y, {y.shape()[1]});
  }
  return to_complex ? complex({parts[0], parts[1]}) : parts[0];
}

Results complex_op(Call& call) {
  const std::array given = {call.value("real"), call.value("imag")};
  const auto x = promoted(call.build, given);
  return complex({x[0], x[1]});
}
Results polar(Call& call) {
  const Ref size = call.tensor("abs"), angle = call.tensor("angle");
  return complex({size * cos(angle), size * sin(angle)});
}
Results view_as_complex(Call& call) {
  const Ref x = call.tensor("self");
  if (x.rank() == 0 || x.shape().back() != Dim(2)) throw error("view_as_complex of {}", x.type().str());
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  const Shape shape(x.shape().begin(), x.shape().end() - 1);
  const Ref z = complex(
      {reshape(slice(x, last, Dim(0), Dim(1)), shape), reshape(slice(x, last, Dim(1), Dim(2)), shape)});
  return call.build.maybe_view(call.tensor_ptr("self"), z, std::nullopt);
}

Results of_complex_numbers(Call& call) { throw error("{} of a real tensor", call.name); }

constexpr AtenEntry fourier_table[] = {
    {"fft_fft", complex_to_complex<false>},
    {"fft_ifft", complex_to_complex<true>},
    {"fft_fft2", complex_to_complex<false>},
    {"fft_ifft2", complex_to_complex<true>},
    {"fft_fftn", complex_to_complex<false>},
    {"fft_ifftn", complex_to_complex<true>},
    {"fft_rfft", real_to_half<false>},
    {"fft_rfft2", real_to_half<false>},
    {"fft_rfftn", real_to_half<false>},
    {"fft_ihfft", real_to_half<true>},
    {"fft_ihfft2", real_to_half<true>},
    {"fft_ihfftn", real_to_half<true>},
    {"fft_irfft", half_to_real<true>},
    {"fft_irfft2", half_to_real<true>},
    {"fft_irfftn", half_to_real<true>},
    {"fft_hfft", half_to_real<false>},
    {"fft_hfft2", half_to_real<false>},
    {"fft_hfftn", half_to_real<false>},
    {"_fft_c2c", fft_c2c},
    {"_fft_r2c", fft_r2c},
    {"_fft_c2r", fft_c2r},
    {"fft_fftfreq", frequencies<false>},
    {"fft_rfftfreq", frequencies<true>},
    {"hann_window", hann_window},
    {"hamming_window", hamming_window},
    {"blackman_window", blackman_window},
    {"stft", stft},
    {"istft", istft},
    {"complex", complex_op},
    {"polar", polar},
    {"view_as_complex", view_as_complex},
    {"view_as_real", of_complex_numbers},
    {"imag", of_complex_numbers},
};

}  // namespace

std::span<const AtenEntry> fourier_entries() { return fourier_table; }

}  // namespace tenon::converter
