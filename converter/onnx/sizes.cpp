// Arithmetic on sizes: the chains of Shape, Gather, Mul, Concat, ... that exporters write for a reshape.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "converter/aten/shapes.h"
#include "converter/onnx/element_type.h"
#include "converter/onnx/table.h"

namespace tenon::converter::onnx {

namespace {

/// The operands, known up to symbols; a rule gives nullopt when it cannot say what the result is.
using Known = std::vector<Sizes>;
using OnSizes = std::optional<Sizes> (*)(const Call&, const Known&);

bool has_dtype(DType t) { return t == DType::i64 || t == DType::i32 || is_bool(t); }

std::int64_t count_of(const Index& shape) { return tenon::numel(shape); }

std::optional<Axes> known_elements(const Sizes& s) {
  Axes out;
  for (const Dim& d : s.elements) {
    if (!d.is_known()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

/// Elements of x at the flat positions.
Sizes at_positions(const Sizes& x, Index shape, const std::vector<std::size_t>& positions) {
  Sizes out{x.dtype, std::move(shape), {}};
  for (const std::size_t p : positions) out.elements.push_back(x.elements[p]);
  return out;
}

Index broadcast_shape(const Index& a, const Index& b) {
  const auto known = known_sizes(broadcast(to_shape(a), to_shape(b)));
  return *known;
}

Sizes expanded(const Sizes& x, const Index& shape) {
  std::vector<std::size_t> positions;
  const std::size_t missing = shape.size() - x.shape.size();
  for_each_index(shape, [&](std::span<const std::int64_t> at) {
    std::int64_t position = 0;
    for (std::size_t i = 0; i < x.shape.size(); ++i)
      position = position * x.shape[i] + (x.shape[i] == 1 ? 0 : at[missing + i]);
    positions.push_back(static_cast<std::size_t>(position));
  });
  return at_positions(x, shape, positions);
}

template <class F>
std::optional<Sizes> elementwise(const Known& in, DType dtype, F&& f) {
  Index shape = in[0].shape;
  for (const Sizes& s : in) shape = broadcast_shape(shape, s.shape);
  Known same;
  for (const Sizes& s : in) same.push_back(expanded(s, shape));
  Sizes out{dtype, shape, {}};
  for (std::size_t i = 0; i < same[0].elements.size(); ++i) {
    std::vector<Dim> at;
    for (const Sizes& s : same) at.push_back(s.elements[i]);
    const std::optional<Dim> value = f(at);
    if (!value) return std::nullopt;
    out.elements.push_back(*value);
  }
  return out;
}

using Elements = const std::vector<Dim>&;

std::optional<Dim> truth(std::optional<bool> known) {
  return known ? std::optional(Dim(std::int64_t{*known})) : std::nullopt;
}

bool is_not_negative(const Dim& d) { return d.range().min.value_or(-1) >= 0; }

std::optional<Dim> divided(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return std::nullopt;
  if (a.is_known() && b.is_known()) {
    if (b.value() == -1) return -a;
    return Dim(a.value() / b.value());
  }
  if (!is_not_negative(a) || !b.is_known() || b.value() < 1) {
    if (!is_not_negative(a) || b.range().min.value_or(0) < 1) return std::nullopt;
  }
  return floor_div(a, b);
}

std::optional<Sizes> add(const Call&, const Known& in) {
  return elementwise(in, in[0].dtype, [](Elements e) { return std::optional(e[0] + e[1]); });
}
std::optional<Sizes> subtract(const Call&, const Known& in) {
  return elementwise(in, in[0].dtype, [](Elements e) { return std::optional(e[0] - e[1]); });
}
std::optional<Sizes> multiply(const Call&, const Known& in) {
  return elementwise(in, in[0].dtype, [](Elements e) { return std::optional(e[0] * e[1]); });
}
std::optional<Sizes> divide(const Call&, const Known& in) {
  return elementwise(in, in[0].dtype, [](Elements e) { return divided(e[0], e[1]); });
}
std::optional<Sizes> modulo(const Call& call, const Known& in) {
  if (call.integer("fmod", 0) != 0) return std::nullopt;
  return elementwise(in, in[0].dtype, [](Elements e) -> std::optional<Dim> {
    if (!e[1].is_known() || e[1].value() < 1) return std::nullopt;
    return mod(e[0], e[1]);
  });
}
std::optional<Sizes> negate(const Call&, const Known& in) {
  return elementwise(in, in[0].dtype, [](Elements e) { return std::optional(-e[0]); });
}
std::optional<Sizes> smallest(const Call&, const Known& in) {
  return elementwise(in, in[0].dtype, [](Elements e) {
    Dim all = e[0];
    for (const Dim& d : e) all = min(all, d);
    return std::optional(all);
  });
}
std::optional<Sizes> largest(const Call&, const Known& in) {
  return elementwise(in, in[0].dtype, [](Elements e) {
    Dim all = e[0];
    for (const Dim& d : e) all = max(all, d);
    return std::optional(all);
  });
}
std::optional<Sizes> equals(const Call& call, const Known& in) {
  return elementwise(in, DType::boolean,
                     [&](Elements e) { return truth(call.build.known_equal(e[0], e[1])); });
}
std::optional<Sizes> less(const Call& call, const Known& in) {
  return elementwise(in, DType::boolean,
                     [&](Elements e) { return truth(call.build.known_less(e[0], e[1])); });
}
std::optional<Sizes> greater(const Call& call, const Known& in) {
  return elementwise(in, DType::boolean,
                     [&](Elements e) { return truth(call.build.known_less(e[1], e[0])); });
}
std::optional<Sizes> negated(const Call&, const Known& in) {
  return elementwise(in, DType::boolean, [](Elements e) { return std::optional(Dim(1) - e[0]); });
}
std::optional<Sizes> chosen(const Call&, const Known& in) {
  return elementwise(in, in[1].dtype, [](Elements e) -> std::optional<Dim> {
    if (!e[0].is_known()) return std::nullopt;
    return e[0].value() != 0 ? e[1] : e[2];
  });
}

std::optional<Sizes> itself(const Call&, const Known& in) { return in[0]; }

std::optional<Sizes> cast_sizes(const Call& call, const Known& in) {
  if (is_narrow(call.element_type("to"))) return std::nullopt;
  const DType to = call.dtype("to");
  if (!has_dtype(to) || (is_bool(to) && !is_bool(in[0].dtype))) return std::nullopt;
  Sizes out = in[0];
  out.dtype = to;
  return out;
}

std::optional<Sizes> concat_sizes(const Call& call, const Known& in) {
  Sizes out{in[0].dtype, {0}, {}};
  for (const Sizes& s : in) {
    if (s.shape.size() != 1) return std::nullopt;
    out.elements.insert(out.elements.end(), s.elements.begin(), s.elements.end());
  }
  call.axis(1, 0);
  out.shape[0] = static_cast<std::int64_t>(out.elements.size());
  return out;
}

std::optional<Sizes> gather_sizes(const Call& call, const Known& in) {
  const auto indices = known_elements(in[1]);
  if (in[0].shape.size() != 1 || !indices || call.axis(1, 0) != 0) return std::nullopt;
  std::vector<std::size_t> positions;
  const auto size = static_cast<std::int64_t>(in[0].elements.size());
  for (const std::int64_t i : *indices) {
    if (i < -size || i >= size) throw error("the index {} is outside of {} sizes", i, size);
    positions.push_back(static_cast<std::size_t>(i < 0 ? i + size : i));
  }
  return at_positions(in[0], in[1].shape, positions);
}

std::optional<Sizes> slice_sizes(const Call& call, const Known& in) {
  if (in[0].shape.size() != 1 || (call.version >= 10 && in.size() < 3)) return std::nullopt;
  Axes start, end, step = {1};
  if (in.size() > 2) {
    const auto a = known_elements(in[1]), b = known_elements(in[2]);
    const auto c = in.size() > 4 ? known_elements(in[4]) : Axes{1};
    if (!a || !b || !c) return std::nullopt;
    start = *a, end = *b, step = *c;
  } else {
    start = call.integers("starts", {}), end = call.integers("ends", {});
  }
  if (start.size() != 1 || end.size() != 1 || step.size() != 1 || step[0] == 0) return std::nullopt;
  const auto size = static_cast<std::int64_t>(in[0].elements.size());
  const bool back = step[0] < 0;
  const auto clipped = [&](std::int64_t v) {
    if (v < 0) v = v < -size ? -1 : v + size;
    return back ? std::clamp<std::int64_t>(v, -1, size - 1) : std::clamp<std::int64_t>(v, 0, size);
  };
  std::vector<std::size_t> positions;
  const std::int64_t last = end[0] < -size && back ? -1 : clipped(end[0]);
  for (std::int64_t i = std::max<std::int64_t>(clipped(start[0]), 0); back ? i > last : i < last;
       i += step[0])
    positions.push_back(static_cast<std::size_t>(i));
  return at_positions(in[0], {static_cast<std::int64_t>(positions.size())}, positions);
}

std::optional<Sizes> reshaped_sizes(const Sizes& x, const Index& shape) {
  if (count_of(shape) != count_of(x.shape)) return std::nullopt;
  return Sizes{x.dtype, shape, x.elements};
}

std::optional<Sizes> reshape_sizes(const Call&, const Known& in) {
  const auto wanted = known_elements(in[1]);
  if (!wanted || count_of(in[0].shape) == 0) return std::nullopt;
  const Shape shape = resolved_shape({wanted->begin(), wanted->end()}, Dim(count_of(in[0].shape)));
  const auto known = known_sizes(shape);
  return known ? reshaped_sizes(in[0], *known) : std::nullopt;
}

std::optional<Sizes> squeeze_sizes(const Call& call, const Known& in) {
  const auto axes = call.axes(1, std::max<std::size_t>(in[0].shape.size(), 1));
  Index shape;
  for (std::size_t i = 0; i < in[0].shape.size(); ++i) {
    const bool named =
        axes && std::find(axes->begin(), axes->end(), static_cast<std::int64_t>(i)) != axes->end();
    if (axes ? !named : in[0].shape[i] != 1) shape.push_back(in[0].shape[i]);
  }
  return reshaped_sizes(in[0], shape);
}

std::optional<Sizes> unsqueeze_sizes(const Call& call, const Known& in) {
  if (!call.has("axes") && in.size() < 2) return std::nullopt;
  const std::size_t given = call.has("axes") ? call.integers("axes", {}).size() : in[1].elements.size();
  const std::size_t rank = in[0].shape.size() + given;
  const auto axes = call.axes(1, rank);
  Index shape = in[0].shape;
  Axes sorted = *axes;
  std::sort(sorted.begin(), sorted.end());
  for (const std::int64_t a : sorted) {
    if (a > static_cast<std::int64_t>(shape.size())) return std::nullopt;
    shape.insert(shape.begin() + a, 1);
  }
  return reshaped_sizes(in[0], shape);
}

std::optional<Sizes> expand_sizes(const Call&, const Known& in) {
  const auto wanted = known_elements(in[1]);
  if (!wanted || count_of(*wanted) > 4096) return std::nullopt;
  return expanded(in[0], broadcast_shape(in[0].shape, *wanted));
}

template <class F>
std::optional<Sizes> reduced_sizes(const Call& call, const Known& in, F&& f) {
  if (in[0].shape.size() != 1 || in[0].elements.empty()) return std::nullopt;
  if (const auto axes = call.axes(1, 1); (axes && *axes != Axes{0}) || call.has("noop_with_empty_axes"))
    return std::nullopt;
  Dim all = in[0].elements[0];
  for (std::size_t i = 1; i < in[0].elements.size(); ++i) all = f(all, in[0].elements[i]);
  return Sizes{in[0].dtype, call.integer("keepdims", 1) != 0 ? Index{1} : Index{}, {all}};
}

std::optional<Sizes> product(const Call& call, const Known& in) {
  return reduced_sizes(call, in, [](const Dim& a, const Dim& b) { return a * b; });
}
std::optional<Sizes> sum(const Call& call, const Known& in) {
  return reduced_sizes(call, in, [](const Dim& a, const Dim& b) { return a + b; });
}

std::optional<Sizes> constant_of_shape(const Call& call, const Known& in) {
  const auto shape = known_elements(in[0]);
  if (!shape || in[0].shape.size() != 1 || !call.has("value")) return std::nullopt;
  const Tensor value = call.data("value");
  if (!has_dtype(value.dtype()) || value.numel() != 1 || count_of(*shape) > 4096) return std::nullopt;
  const Dim element(value.reshape({}).get_int());
  return Sizes{value.dtype(), *shape, std::vector<Dim>(static_cast<std::size_t>(count_of(*shape)), element)};
}

struct Rule {
  OnSizes run;
  std::size_t operands = 1;  // with fewer the operator's own handler says what is missing
};

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> all = {
      {"Add", {add, 2}},
      {"Cast", {cast_sizes}},
      {"Concat", {concat_sizes}},
      {"ConstantOfShape", {constant_of_shape}},
      {"Div", {divide, 2}},
      {"Equal", {equals, 2}},
      {"Expand", {expand_sizes, 2}},
      {"Gather", {gather_sizes, 2}},
      {"Greater", {greater, 2}},
      {"Identity", {itself}},
      {"Less", {less, 2}},
      {"Max", {largest}},
      {"Min", {smallest}},
      {"Mod", {modulo, 2}},
      {"Mul", {multiply, 2}},
      {"Neg", {negate}},
      {"Not", {negated}},
      {"ReduceProd", {product}},
      {"ReduceSum", {sum}},
      {"Reshape", {reshape_sizes, 2}},
      {"Slice", {slice_sizes}},
      {"Squeeze", {squeeze_sizes}},
      {"Sub", {subtract, 2}},
      {"Unsqueeze", {unsqueeze_sizes}},
      {"Where", {chosen, 3}},
  };
  return all;
}

Operands shape_of(const Call& call) {
  const Shape shape = call.type(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bound = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const std::int64_t start = bound(call.integer("start", 0)),
                     end = std::max(start, bound(call.integer("end", rank)));
  Sizes out{DType::i64, {end - start}, {shape.begin() + start, shape.begin() + end}};
  return {Operand(std::move(out))};
}

Operands size_of_tensor(const Call& call) {
  return {Operand(Sizes{DType::i64, {}, {numel(call.type(0).shape)}})};
}

}  // namespace

std::optional<Operands> run_on_sizes(Call& call) {
  const std::string name = call.full_name();
  if (name == "Shape") return shape_of(call);
  if (name == "Size") return size_of_tensor(call);
  const auto rule = rules().find(name);
  if (rule == rules().end() || call.count() < rule->second.operands) return std::nullopt;
  Known known;
  for (std::size_t i = 0; i < call.count(); ++i) {
    auto sizes = call.values.sizes(call.operand(i));
    if (!sizes || !has_dtype(sizes->dtype)) return std::nullopt;
    known.push_back(std::move(*sizes));
  }
  auto out = rule->second.run(call, known);
  if (!out) return std::nullopt;
  return Operands{Operand(std::move(*out))};
}

}  // namespace tenon::converter::onnx
