// Written from torchvision's documentation of each operator: one element after the other, in float64.
#include "converter/libtorch/torchvision.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>

#include "converter/exported/schemas.h"

namespace tenon::libtorch {
namespace {

using at::Tensor;
using Results = std::tuple<Tensor, Tensor>;

Tensor in_f64(const Tensor& t) { return t.to(c10::kDouble).contiguous(); }

Tensor nms(const Tensor& dets, const Tensor& scores, double threshold) {
  const Tensor boxes = in_f64(dets),
               order = std::get<1>(scores.sort(/*stable=*/true, 0, /*descending=*/true));
  const auto b = boxes.accessor<double, 2>();
  const auto area = [&](std::int64_t i) { return (b[i][2] - b[i][0]) * (b[i][3] - b[i][1]); };
  const auto overlap = [&](std::int64_t i, std::int64_t j) {
    const double w = std::min(b[i][2], b[j][2]) - std::max(b[i][0], b[j][0]);
    const double h = std::min(b[i][3], b[j][3]) - std::max(b[i][1], b[j][1]);
    const double common = std::max(w, 0.0) * std::max(h, 0.0);
    return common / (area(i) + area(j) - common);
  };
  std::vector<std::int64_t> kept;
  for (std::int64_t n = 0; n < order.numel(); ++n) {
    const std::int64_t i = order[n].item<std::int64_t>();
    if (std::none_of(kept.begin(), kept.end(), [&](std::int64_t j) { return overlap(i, j) > threshold; }))
      kept.push_back(i);
  }
  const auto count = static_cast<std::int64_t>(kept.size());
  return at::from_blob(kept.data(), {count}, c10::kLong).clone();
}

/// Between the four nearest pixels; zero outside of [-1, size].
class Image {
 public:
  explicit Image(const Tensor& plane) : t_(plane), at_(t_.accessor<double, 2>()) {}
  double pixel(std::int64_t y, std::int64_t x) const {
    const bool inside = y >= 0 && x >= 0 && y < at_.size(0) && x < at_.size(1);
    return inside ? at_[y][x] : 0;
  }
  std::int64_t height() const { return at_.size(0); }
  std::int64_t width() const { return at_.size(1); }

  /// Pixels beyond the edge are zero.
  double padded(double y, double x) const {
    if (y <= -1 || x <= -1 || y >= static_cast<double>(height()) || x >= static_cast<double>(width()))
      return 0;
    return mixed(std::floor(y), std::floor(x), y - std::floor(y), x - std::floor(x));
  }
  /// Places beyond the edge are those of the edge.
  double clamped(double y, double x) const {
    if (y < -1 || x < -1 || y > static_cast<double>(height()) || x > static_cast<double>(width())) return 0;
    const auto edge = [](double v, std::int64_t n) { return std::clamp(v, 0.0, static_cast<double>(n - 1)); };
    return padded(edge(y, height()), edge(x, width()));
  }

 private:
  double mixed(double y, double x, double dy, double dx) const {
    const auto i = static_cast<std::int64_t>(y), j = static_cast<std::int64_t>(x);
    return (1 - dy) * ((1 - dx) * pixel(i, j) + dx * pixel(i, j + 1)) +
           dy * ((1 - dx) * pixel(i + 1, j) + dx * pixel(i + 1, j + 1));
  }

  Tensor t_;
  at::TensorAccessor<double, 2> at_;
};

struct Box {
  std::int64_t image;
  double x1, y1, x2, y2;
};
std::vector<Box> boxes_of(const Tensor& rois) {
  const Tensor t = in_f64(rois);
  const auto r = t.accessor<double, 2>();
  std::vector<Box> out;
  for (std::int64_t i = 0; i < t.size(0); ++i)
    out.push_back({static_cast<std::int64_t>(r[i][0]), r[i][1], r[i][2], r[i][3], r[i][4]});
  return out;
}

/// One value for each bin of each channel: f(image plane, box, down, right).
template <class F>
Tensor each_bin(const Tensor& input, const std::vector<Box>& boxes, std::int64_t high, std::int64_t wide,
                bool own_channel, F&& f) {
  const Tensor x = in_f64(input);
  const std::int64_t channels = own_channel ? x.size(1) / (high * wide) : x.size(1);
  Tensor out = at::zeros({static_cast<std::int64_t>(boxes.size()), channels, high, wide}, c10::kDouble);
  auto o = out.accessor<double, 4>();
  for (std::size_t n = 0; n < boxes.size(); ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < high; ++i)
        for (std::int64_t j = 0; j < wide; ++j) {
          const Image plane(x[boxes[n].image][own_channel ? (c * high + i) * wide + j : c]);
          o[static_cast<std::int64_t>(n)][c][i][j] = f(plane, boxes[n], i, j);
        }
  return out.to(input.scalar_type());
}
Tensor channel_numbers(const Tensor& out) {
  const std::int64_t each = out.size(1) * out.size(2) * out.size(3);
  return at::arange(each, c10::kInt)
      .reshape({1, out.size(1), out.size(2), out.size(3)})
      .expand(out.sizes())
      .contiguous();
}

Tensor aligned(const Tensor& input, const Tensor& rois, double scale, std::int64_t high, std::int64_t wide,
               std::int64_t ratio, bool half, bool own_channel, bool smallest_is_one) {
  return each_bin(
      input, boxes_of(rois), high, wide, own_channel,
      [&](const Image& image, const Box& box, std::int64_t i, std::int64_t j) {
        const double shift = half ? 0.5 : 0;
        const double top = box.y1 * scale - shift, left = box.x1 * scale - shift;
        double h = box.y2 * scale - shift - top, w = box.x2 * scale - shift - left;
        if (smallest_is_one) h = std::max(h, 1.0), w = std::max(w, 1.0);
        const double bin_h = h / static_cast<double>(high), bin_w = w / static_cast<double>(wide);
        const auto many = [&](double bin) {
          return ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(bin));
        };
        const std::int64_t down = many(bin_h), right = many(bin_w);
        double sum = 0;
        for (std::int64_t a = 0; a < down; ++a)
          for (std::int64_t b = 0; b < right; ++b) {
            const auto at = [](double start, std::int64_t bin, double size, std::int64_t k, std::int64_t n) {
              return start +
                     (static_cast<double>(bin) + (static_cast<double>(k) + 0.5) / static_cast<double>(n)) *
                         size;
            };
            sum += image.clamped(at(top, i, bin_h, a, down), at(left, j, bin_w, b, right));
          }
        return sum / static_cast<double>(std::max<std::int64_t>(down * right, 1));
      });
}

Tensor roi_align(const Tensor& input, const Tensor& rois, double scale, std::int64_t high, std::int64_t wide,
                 std::int64_t ratio, bool half) {
  return aligned(input, rois, scale, high, wide, ratio, half, /*own_channel=*/false,
                 /*smallest_is_one=*/!half);
}
Results ps_roi_align(const Tensor& input, const Tensor& rois, double scale, std::int64_t high,
                     std::int64_t wide, std::int64_t ratio) {
  const Tensor out =
      aligned(input, rois, scale, high, wide, ratio, /*half=*/true, /*own_channel=*/true, false);
  return {out, channel_numbers(out)};
}

/// The pixels of a bin: [begin, end).
struct Window {
  std::int64_t begin, end;
};
Window window(double start, double size, std::int64_t bin, std::int64_t extent) {
  const auto place = [&](double edge) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(edge + start), 0, extent);
  };
  return {place(std::floor(static_cast<double>(bin) * size)),
          place(std::ceil(static_cast<double>(bin + 1) * size))};
}

Results roi_pool(const Tensor& input, const Tensor& rois, double scale, std::int64_t high,
                 std::int64_t wide) {
  const Tensor out =
      each_bin(input, boxes_of(rois), high, wide, false,
               [&](const Image& image, const Box& box, std::int64_t i, std::int64_t j) {
                 const double top = std::round(box.y1 * scale), left = std::round(box.x1 * scale);
                 const double h = std::max(std::round(box.y2 * scale) - top + 1, 1.0);
                 const double w = std::max(std::round(box.x2 * scale) - left + 1, 1.0);
                 const Window rows = window(top, h / static_cast<double>(high), i, image.height());
                 const Window columns = window(left, w / static_cast<double>(wide), j, image.width());
                 if (rows.begin >= rows.end || columns.begin >= columns.end) return 0.0;
                 double best = -INFINITY;
                 for (std::int64_t y = rows.begin; y < rows.end; ++y)
                   for (std::int64_t x = columns.begin; x < columns.end; ++x)
                     best = std::max(best, image.pixel(y, x));
                 return best;
               });
  return {out, at::zeros(out.sizes(), c10::kInt)};
}
Results ps_roi_pool(const Tensor& input, const Tensor& rois, double scale, std::int64_t high,
                    std::int64_t wide) {
  const Tensor out =
      each_bin(input, boxes_of(rois), high, wide, true,
               [&](const Image& image, const Box& box, std::int64_t i, std::int64_t j) {
                 const double top = std::round(box.y1) * scale, left = std::round(box.x1) * scale;
                 const double h = std::max((std::round(box.y2) + 1) * scale - top, 0.1);
                 const double w = std::max((std::round(box.x2) + 1) * scale - left, 0.1);
                 const auto edges = [](double start, double size, std::int64_t bin, std::int64_t extent) {
                   const auto place = [&](double e) {
                     return std::clamp<std::int64_t>(static_cast<std::int64_t>(e), 0, extent);
                   };
                   return Window{place(std::floor(static_cast<double>(bin) * size + start)),
                                 place(std::ceil(static_cast<double>(bin + 1) * size + start))};
                 };
                 const Window rows = edges(top, h / static_cast<double>(high), i, image.height());
                 const Window columns = edges(left, w / static_cast<double>(wide), j, image.width());
                 double sum = 0;
                 for (std::int64_t y = rows.begin; y < rows.end; ++y)
                   for (std::int64_t x = columns.begin; x < columns.end; ++x) sum += image.pixel(y, x);
                 const std::int64_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
                 return count > 0 ? sum / static_cast<double>(count) : 0.0;
               });
  return {out, channel_numbers(out)};
}

Tensor deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                     const Tensor& bias, std::int64_t stride_h, std::int64_t stride_w, std::int64_t pad_h,
                     std::int64_t pad_w, std::int64_t dilation_h, std::int64_t dilation_w,
                     std::int64_t groups, std::int64_t offset_groups, bool use_mask) {
  const Tensor x = in_f64(input), k = in_f64(weight), moved = in_f64(offset), shares = in_f64(mask);
  const std::int64_t kh = k.size(2), kw = k.size(3), taps = kh * kw, channels = x.size(1);
  const std::int64_t high = moved.size(2), wide = moved.size(3), each = channels / groups;
  Tensor columns = at::zeros({x.size(0), groups, each * taps, high * wide}, c10::kDouble);
  auto out = columns.accessor<double, 4>();
  const auto by = moved.accessor<double, 4>();
  for (std::int64_t n = 0; n < x.size(0); ++n)
    for (std::int64_t c = 0; c < channels; ++c) {
      const Image plane(x[n][c]);
      const std::int64_t part = c / (channels / offset_groups);
      for (std::int64_t tap = 0; tap < taps; ++tap)
        for (std::int64_t i = 0; i < high; ++i)
          for (std::int64_t j = 0; j < wide; ++j) {
            const std::int64_t at = part * taps + tap;
            const double y =
                static_cast<double>(i * stride_h - pad_h + tap / kw * dilation_h) + by[n][2 * at][i][j];
            const double z =
                static_cast<double>(j * stride_w - pad_w + tap % kw * dilation_w) + by[n][2 * at + 1][i][j];
            const double share = use_mask ? shares.accessor<double, 4>()[n][at][i][j] : 1;
            out[n][c / each][c % each * taps + tap][i * wide + j] = plane.padded(y, z) * share;
          }
    }
  const Tensor rows = k.reshape({groups, k.size(0) / groups, each * taps});
  const Tensor y = rows.matmul(columns).reshape({x.size(0), k.size(0), high, wide});
  return (y + in_f64(bias).reshape({-1, 1, 1})).to(input.scalar_type());
}

}  // namespace

void register_torchvision() {
  static const torch::Library library = [] {
    torch::Library made(torch::Library::DEF, "torchvision", std::nullopt, __FILE__, __LINE__);
    for (const std::string_view line : exported::schemas_of("torchvision::"))
      made.def(std::string(line).c_str());
    made.impl("deform_conv2d", torch::dispatch(c10::kCPU, TORCH_FN(deform_conv2d)));
    made.impl("nms", torch::dispatch(c10::kCPU, TORCH_FN(nms)));
    made.impl("ps_roi_align", torch::dispatch(c10::kCPU, TORCH_FN(ps_roi_align)));
    made.impl("ps_roi_pool", torch::dispatch(c10::kCPU, TORCH_FN(ps_roi_pool)));
    made.impl("roi_align", torch::dispatch(c10::kCPU, TORCH_FN(roi_align)));
    made.impl("roi_pool", torch::dispatch(c10::kCPU, TORCH_FN(roi_pool)));
    return made;
  }();
}

}  // namespace tenon::libtorch
