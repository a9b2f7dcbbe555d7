#include "ir/type.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

std::string str(const Shape& shape) {
  std::string s = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i) s += ',';
    s += shape[i].str();
  }
  return s + "]";
}

std::string Type::str() const { return std::string(name(dtype)) + tenon::str(shape); }

Type Type::parse(std::string_view text) {
  const auto open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']')
    throw error("'{}' is not a type", text).hint("write a dtype and a shape, such as f32[N,3,224,224]");
  const auto dtype = dtype_from_name(text.substr(0, open));
  if (!dtype)
    throw error("'{}' is not a dtype", text.substr(0, open))
        .hint(
            "use one of f32, f64, f16, bf16, f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, i64, i32, i16, i8, "
            "u8, bool, string");
  Type type{*dtype, {}};
  std::string_view dims = text.substr(open + 1, text.size() - open - 2);
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= dims.size() && !dims.empty(); ++i) {
    if (i < dims.size() && dims[i] == '(') ++depth;
    if (i < dims.size() && dims[i] == ')') --depth;
    if (i == dims.size() || (dims[i] == ',' && depth == 0)) {
      type.shape.push_back(Dim::parse(dims.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return type;
}

Dim numel(const Shape& shape) {
  Dim n = 1;
  for (const Dim& d : shape) n = n * d;
  return n;
}

double elements(const Type& type) { return static_cast<double>(numel(type.shape).value()); }

Index eval(const Shape& shape, const Bindings& bindings) {
  Index sizes(shape.size());
  std::transform(shape.begin(), shape.end(), sizes.begin(), [&](const Dim& d) { return d.eval(bindings); });
  return sizes;
}

Shape to_shape(std::span<const std::int64_t> sizes) { return Shape(sizes.begin(), sizes.end()); }

std::optional<Index> known_sizes(const Shape& shape) {
  if (!std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_known(); }))
    return std::nullopt;
  return eval(shape, {});
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& d = out[out.size() - 1 - i];
    if (x == y || y == 1) {
      d = x;
    } else if (x == 1) {
      d = y;
    } else {
      if (has_data_size(x) || has_data_size(y))
        throw unsupported("shapes {} and {}: whether {} is {} only a run tells", str(a), str(b), x.str(),
                          y.str());
      throw sizes_differ(
          fmt::format("shapes {} and {} do not broadcast: {} and {}", str(a), str(b), x.str(), y.str()), x,
          y);
    }
  }
  return out;
}

std::int64_t normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) throw error("axis {} is out of range for rank {}", axis, r);
  return axis < 0 ? axis + r : axis;
}

}  // namespace tenon
