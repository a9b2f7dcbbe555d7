#include "report/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tenon {
namespace {

constexpr std::size_t lanes = 16;
constexpr std::size_t piece = 4096;  // numbers that are converted at a time

// Independent sums for each lane, so that the compiler may use SIMD.
struct Lanes {
  std::array<double, lanes> sum{}, square{};
  std::array<float, lanes> zeros{}, strange{};  // of one piece: small enough to be exact

  template <class T>
  void add(const T* x, std::size_t count, std::array<T, lanes>& low, std::array<T, lanes>& high) {
    for (std::size_t i = 0; i + lanes <= count; i += lanes)
      for (std::size_t l = 0; l < lanes; ++l) one(x[i + l], l, low[l], high[l]);
    for (std::size_t i = count - count % lanes; i < count; ++i) one(x[i], 0, low[0], high[0]);
  }

 private:
  template <class T>
  void one(T x, std::size_t l, T& low, T& high) {
    const bool finite = x - x == 0;
    const T v = finite ? x : 0;
    sum[l] += static_cast<double>(v);
    square[l] += static_cast<double>(v) * static_cast<double>(v);
    zeros[l] += x == 0 ? 1.0F : 0.0F;
    strange[l] += finite ? 0.0F : 1.0F;
    low = finite && x < low ? x : low;
    high = finite && x > high ? x : high;
  }
};

template <class T>
class Collector {
 public:
  Collector() {
    low_.fill(std::numeric_limits<T>::max());
    high_.fill(std::numeric_limits<T>::lowest());
  }

  void add(const T* x, std::size_t count) {
    Lanes lane;
    lane.add(x, count, low_, high_);
    for (std::size_t l = 0; l < lanes; ++l) {
      sum_ += lane.sum[l];
      square_ += lane.square[l];
      result_.zeros += static_cast<std::int64_t>(lane.zeros[l]);
    }
    if (std::any_of(lane.strange.begin(), lane.strange.end(), [](float n) { return n > 0; }))
      for (std::size_t i = 0; i < count; ++i) {
        result_.nans += std::isnan(x[i]);
        result_.infinities += std::isinf(x[i]);
      }
    result_.count += static_cast<std::int64_t>(count);
  }

  WeightStatistics result() const {
    WeightStatistics r = result_;
    if (r.finite() == 0) return r;
    const auto n = static_cast<double>(r.finite());
    r.min = static_cast<double>(*std::min_element(low_.begin(), low_.end()));
    r.max = static_cast<double>(*std::max_element(high_.begin(), high_.end()));
    r.mean = sum_ / n;
    r.deviation = std::sqrt(std::max(0.0, square_ / n - r.mean * r.mean));
    return r;
  }

 private:
  WeightStatistics result_;
  std::array<T, lanes> low_, high_;
  double sum_ = 0, square_ = 0;
};

// Numbers of another type, a piece at a time as f64.
template <class T>
WeightStatistics converted(const T* data, std::size_t count) {
  Collector<double> collector;
  std::array<double, piece> values;
  for (std::size_t i = 0; i < count; i += piece) {
    const std::size_t size = std::min(piece, count - i);
    for (std::size_t j = 0; j < size; ++j) values[j] = static_cast<double>(data[i + j]);
    collector.add(values.data(), size);
  }
  return collector.result();
}

template <class T>
WeightStatistics direct(const T* data, std::size_t count) {
  Collector<T> collector;
  for (std::size_t i = 0; i < count; i += piece) collector.add(data + i, std::min(piece, count - i));
  return collector.result();
}

}  // namespace

WeightStatistics statistics(const Tensor& tensor) {
  if (is_string(tensor.dtype())) return {};
  const Tensor dense = tensor.contiguous();
  const auto count = static_cast<std::size_t>(dense.numel());
  if (dense.dtype() == DType::f32) return direct(dense.data<float>(), count);
  if (dense.dtype() == DType::f64) return direct(dense.data<double>(), count);
  if (dense.dtype() == DType::c64) return direct(dense.data<float>(), 2 * count);
  if (dense.dtype() == DType::c128) return direct(dense.data<double>(), 2 * count);
  return dispatch_real(
      dense.dtype(), [&](auto tag) { return converted(dense.data<typename decltype(tag)::type>(), count); });
}

nlohmann::ordered_json to_json(const Value& weight, const WeightStatistics& s) {
  nlohmann::ordered_json out = {
      {"name", weight.name()},
      {"dtype", name(weight.dtype())},
      {"shape", weight.tensor().shape()},
      {"bytes", static_cast<std::size_t>(weight.tensor().numel()) * size_of(weight.dtype())}};
  for (const auto& [key, value] :
       {std::pair{"min", s.min}, {"max", s.max}, {"mean", s.mean}, {"std", s.deviation}})
    out[key] = s.finite() > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  out["zeros"] = s.zeros;
  out["nan"] = s.nans;
  out["inf"] = s.infinities;
  return out;
}

}  // namespace tenon
