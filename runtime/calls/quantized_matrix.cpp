#include "runtime/calls/quantized_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

using Part = QuantizedMatrix::Part;
using View = QuantizedMatrix::View;
using Axis = std::vector<Part>;

std::int64_t length_of(const Axis& axis) {
  std::int64_t size = 1;
  for (const Part& p : axis) size *= p.size;
  return size;
}

std::optional<Index> sizes_of(const ConstantValue& v) { return known_sizes(v.value()->shape()); }

View dense(const ConstantValue& base, const Index& sizes) {
  View view{base, {}};
  const Index strides = contiguous_strides(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) view.axes.push_back({{sizes[i], strides[i]}});
  return view;
}

// ---- what views do to places ----

// Factors are merged and split; nullopt where one would be cut unevenly.
std::optional<View> reshaped(const View& from, const Index& sizes) {
  std::vector<Part> parts;  // that are left, the next one last
  for (const Axis& axis : from.axes)
    for (const Part& p : axis)
      if (p.size != 1) parts.push_back(p);
  std::reverse(parts.begin(), parts.end());
  View to{from.base, {}};
  for (const std::int64_t size : sizes) {
    Axis axis;
    for (std::int64_t rest = size; rest > 1;) {
      if (parts.empty()) return std::nullopt;
      Part p = parts.back();
      parts.pop_back();
      if (p.size > rest) {
        if (p.size % rest != 0) return std::nullopt;
        const std::int64_t inner = p.size / rest;
        parts.push_back({inner, p.stride});
        p = {rest, p.stride * inner};
      }
      if (rest % p.size != 0) return std::nullopt;
      rest /= p.size;
      axis.push_back(p);
    }
    to.axes.push_back(std::move(axis));
  }
  return to;
}

// Broadcast to these sizes; nullopt where an axis does not fit.
std::optional<View> expanded(const View& from, const Index& sizes) {
  if (from.axes.size() > sizes.size()) return std::nullopt;
  View to{from.base, {}};
  const std::size_t before = sizes.size() - from.axes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = i < before ? 1 : length_of(from.axes[i - before]);
    if (size == sizes[i] && i >= before)
      to.axes.push_back(from.axes[i - before]);
    else if (size == 1)
      to.axes.push_back({{sizes[i], 0}});
    else
      return std::nullopt;
  }
  return to;
}

// The first `end` elements of an axis.
bool cut(Axis& axis, std::int64_t end) {
  if (axis.empty()) return end == 1;
  const std::int64_t inner = length_of(axis) / axis[0].size;
  if (end % inner != 0) return false;
  axis[0].size = end / inner;
  return true;
}

std::optional<View> viewed(const Node& node, const View& from) {
  if (const auto* permute = node.as<Permute>()) {
    View to{from.base, {}};
    for (const std::int64_t axis : permute->axes)
      to.axes.push_back(from.axes[static_cast<std::size_t>(axis)]);
    return to;
  }
  const auto sizes = known_sizes(node.output()->shape());
  if (!sizes) return std::nullopt;
  if (node.is<Reshape>()) return reshaped(from, *sizes);
  if (node.is<Expand>()) return expanded(from, *sizes);
  if (const auto* slice = node.as<Slice>()) {
    View to = from;
    const auto axis = static_cast<std::size_t>(slice->axis);
    if (!(slice->start == Dim(0)) || slice->step != 1 || !cut(to.axes[axis], (*sizes)[axis]))
      return std::nullopt;
    return to;
  }
  return std::nullopt;
}

bool is_viewing(const Node* node) {
  return node && (node->is<Permute>() || node->is<Reshape>() || node->is<Expand>() || node->is<Slice>());
}

// A scale or zero point, as far as it is a view of another constant.
std::optional<View> view_of(const ConstantValue& v) {
  if (is_viewing(v.node())) {
    const auto from = view_of(v.operand(0));
    if (const auto view = from ? viewed(*v.node(), *from) : std::nullopt) return view;
  }
  const auto sizes = sizes_of(v);
  if (!sizes || !v.is_constant()) return std::nullopt;
  return dense(v, *sizes);
}

// ---- the formula ----

struct Formula {
  View codes;
  std::optional<View> zero, scale;
};

bool is_signed(DType t) { return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64; }

bool is_widening(DType from, DType to) {
  if (!is_integral(from)) return is_float(from) && from != DType::f64 && is_float(to) && to != DType::f64;
  if (is_float(to)) return to != DType::f64;
  return is_integral(to) && size_of(to) > size_of(from) && (is_signed(to) || !is_signed(from));
}

// Codes and zero points are far from where its numbers wrap around.
bool subtracts_exactly(DType t) {
  return t == DType::i32 || t == DType::i64 || (is_float(t) && t != DType::f64);
}

std::optional<Formula> formula_of(const ConstantValue& v);

std::optional<Formula> operation(const ConstantValue& v) {
  const Node& node = *v.node();
  const auto sizes = sizes_of(v);
  if (!sizes) return std::nullopt;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    if (side == 1 && !node.is<Mul>()) break;
    auto f = formula_of(v.operand(side));
    if (!f || f->scale || sizes_of(v.operand(side)) != sizes) continue;
    const auto operand = view_of(v.operand(1 - side));
    auto other = operand ? expanded(*operand, *sizes) : std::nullopt;
    if (!other) continue;
    if (node.is<Mul>()) {
      f->scale = std::move(other);
      return f;
    }
    if (f->zero) return std::nullopt;
    f->zero = std::move(other);
    return f;
  }
  return std::nullopt;
}

std::optional<Formula> formula_of(const ConstantValue& v) {
  const Node* node = v.node();
  if (node && node->is<Cast>() && is_widening(v.operand(0).value()->dtype(), v.value()->dtype()))
    return formula_of(v.operand(0));
  if (node && ((node->is<Sub>() && subtracts_exactly(v.value()->dtype())) ||
               (node->is<Mul>() && is_float(v.value()->dtype()))))
    if (auto f = operation(v)) return f;
  if (is_viewing(node)) {
    auto f = formula_of(v.operand(0));
    if (!f) return std::nullopt;
    auto codes = viewed(*node, f->codes);
    if (!codes) return std::nullopt;
    f->codes = *codes;
    for (std::optional<View>* beside : {&f->zero, &f->scale}) {
      if (!*beside) continue;
      *beside = viewed(*node, **beside);
      if (!*beside) return std::nullopt;
    }
    return f;
  }
  const auto sizes = sizes_of(v);
  if (!sizes || !is_integral(v.value()->dtype()) || !v.is_constant()) return std::nullopt;
  return Formula{dense(v, *sizes), {}, {}};
}

// ---- tables ----

Index places(const Axis& axis) {
  Index at = {0};
  for (const Part& p : axis) {
    Index next;
    next.reserve(at.size() * static_cast<std::size_t>(p.size));
    for (const std::int64_t begin : at)
      for (std::int64_t i = 0; i < p.size; ++i) next.push_back(begin + i * p.stride);
    at = std::move(next);
  }
  return at;
}

// So many consecutive elements of an axis lie in one place.
std::int64_t repeats(const Axis& axis) {
  std::int64_t count = 1;
  for (auto p = axis.rbegin(); p != axis.rend() && (p->stride == 0 || p->size == 1); ++p) count *= p->size;
  return count;
}

std::string text_of(const View& view) {
  std::string text = view.base.text();
  for (const Axis& axis : view.axes) {
    text += '/';
    for (const Part& p : axis) text += fmt::format("{}x{} ", p.size, p.stride);
  }
  return text;
}

struct Range {
  std::int64_t least = 0, largest = 0;
};
Range range_of(const Tensor& integers) {
  return dispatch_real(integers.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const numbers = integers.data<T>();
    const std::int64_t count = integers.numel();
    T least = numbers[0], largest = numbers[0];
    for (std::int64_t i = 1; i < count; ++i) {
      const T n = numbers[i];
      least = n < least ? n : least;
      largest = n > largest ? n : largest;
    }
    return Range{static_cast<std::int64_t>(least), static_cast<std::int64_t>(largest)};
  });
}

// The numbers of each group of k and each column.
std::vector<float> table_of(const View& view, std::size_t k_axis, std::size_t n_axis, std::int64_t group) {
  const Tensor given = view.base.evaluate().to(DType::f32).contiguous();
  const float* const numbers = given.data<float>();
  const Index k = places(view.axes[k_axis]), n = places(view.axes[n_axis]);
  std::vector<float> table;
  for (std::size_t i = 0; i < k.size(); i += static_cast<std::size_t>(group))
    for (const std::int64_t column : n) table.push_back(numbers[k[i] + column]);
  return table;
}

}  // namespace

QuantizedMatrix::QuantizedMatrix(View codes, std::optional<View> zero, std::optional<View> scale,
                                 bool is_transposed)
    : codes_(std::move(codes)),
      zero_(std::move(zero)),
      scale_(std::move(scale)),
      k_axis_(is_transposed ? 1 : 0),
      n_axis_(is_transposed ? 0 : 1),
      K_(length_of(codes_.axes[k_axis_])),
      N_(length_of(codes_.axes[n_axis_])),
      group_(K_),
      text_(is_transposed ? "quantised, transposed " : "quantised "),
      numbers_(std::make_shared<std::optional<QuantizedNumbers>>()) {
  text_ += text_of(codes_);
  for (const std::optional<View>* beside : {&zero_, &scale_}) {
    text_ += '|';
    if (!*beside) continue;
    text_ += text_of(**beside);
    group_ = std::gcd(group_, repeats((*beside)->axes[k_axis_]));
  }
}

namespace {

std::optional<Formula> formula_of_numbers(const Value* value) {
  const ConstantValue constant(value);
  const bool is_number = is_float(value->dtype()) || value->dtype() == DType::i32;
  if (!is_number || !constant.node() || !constant.is_constant()) return std::nullopt;
  return formula_of(constant);
}

}  // namespace

std::optional<QuantizedMatrix> QuantizedMatrix::match_filters(const Value* value, bool of_transposed) {
  if (value->rank() < 3) return std::nullopt;
  auto f = formula_of_numbers(value);
  if (!f) return std::nullopt;
  const auto flatten = [&](View& view) {
    if (of_transposed) std::swap(view.axes[0], view.axes[1]);
    for (std::size_t i = 2; i < view.axes.size(); ++i)
      view.axes[1].insert(view.axes[1].end(), view.axes[i].begin(), view.axes[i].end());
    view.axes.resize(2);
  };
  flatten(f->codes);
  if (f->zero) flatten(*f->zero);
  if (f->scale) flatten(*f->scale);
  QuantizedMatrix matrix(std::move(f->codes), std::move(f->zero), std::move(f->scale), true);
  if (matrix.K_ == 0 || matrix.N_ == 0 || matrix.group_ != matrix.K_) return std::nullopt;
  return matrix;
}

std::optional<QuantizedMatrix> QuantizedMatrix::match(const Value* value, bool is_transposed) {
  constexpr std::int64_t smallest_group = 16;
  if (value->rank() != 2) return std::nullopt;
  auto f = formula_of_numbers(value);
  if (!f) return std::nullopt;
  QuantizedMatrix matrix(std::move(f->codes), std::move(f->zero), std::move(f->scale), is_transposed);
  if (matrix.K_ == 0 || matrix.N_ == 0 || matrix.group_ < std::min(smallest_group, matrix.K_))
    return std::nullopt;
  return matrix;
}

const std::optional<QuantizedNumbers>& QuantizedMatrix::numbers() const {
  if (!*numbers_) *numbers_ = compute();
  return *numbers_;
}

std::optional<QuantizedNumbers> QuantizedMatrix::compute() const {
  QuantizedNumbers numbers;
  numbers.codes = codes_.base.evaluate().contiguous();
  numbers.places = {places(codes_.axes[k_axis_]), places(codes_.axes[n_axis_])};
  const auto [least, largest] = range_of(numbers.codes);
  if (largest > 255 || least < (largest > 127 ? 0 : -128)) return std::nullopt;
  numbers.least_code = least;
  numbers.largest_code = largest;
  if (size_of(numbers.codes.dtype()) > 1)
    numbers.codes = numbers.codes.to(largest > 127 ? DType::u8 : DType::i8).contiguous();
  if (scale_)
    numbers.scales = table_of(*scale_, k_axis_, n_axis_, group_);
  else
    numbers.scales.assign(static_cast<std::size_t>((K_ + group_ - 1) / group_ * N_), 1.0F);
  if (!zero_) return numbers;
  for (const float zero : table_of(*zero_, k_axis_, n_axis_, group_)) {
    if (zero != std::nearbyint(zero) || std::abs(zero) > 32767) return std::nullopt;
    numbers.zeros.push_back(static_cast<std::int16_t>(zero));
  }
  return numbers;
}

}  // namespace tenon
