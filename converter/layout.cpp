#include "converter/layout.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "base/error.h"

namespace tenon::converter {

namespace {

using Known = std::optional<bool>;

std::optional<bool> is_one(const Dim& size) { return known_equal(size, Dim(1)); }
bool is_known_one(const Dim& size) { return size == Dim(1); }
bool is_empty(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& d) { return d == Dim(0); });
}

/// The axes of a format from the innermost outwards; none when no tensor of this rank has it.
std::vector<std::size_t> inner_first(std::size_t rank, MemoryFormat format) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.rbegin(), axes.rend(), 0);
  if (format == MemoryFormat::contiguous || format == MemoryFormat::preserve) return axes;
  if (rank != (format == MemoryFormat::channels_last ? 4u : 5u)) return {};
  std::rotate(axes.begin(), axes.end() - 2, axes.end() - 1);  // the channels, which stood last but one
  return axes;
}

/// Strides without gaps, from the innermost axis outwards. Each counts as one element at least.
std::vector<Dim> packed(const Shape& shape, std::span<const std::size_t> axes) {
  std::vector<Dim> strides(shape.size());
  Dim step(1);
  for (std::size_t a : axes) {
    strides[a] = step;
    step = step * (shape[a] == Dim(0) ? Dim(1) : shape[a]);
  }
  return strides;
}

Known all_of(std::span<const Placed> operands, auto&& test) {
  bool open = false;
  for (const Placed& p : operands) {
    const Known holds = test(p);
    if (holds == false) return false;
    open |= !holds;
  }
  return open ? Known() : Known(true);
}

}  // namespace

Layout dense_layout(const Shape& shape, MemoryFormat format) {
  const auto axes = inner_first(shape.size(), format);
  if (axes.size() != shape.size())
    throw error("a memory format of channels last for a tensor of rank {}", shape.size());
  return {packed(shape, axes), Dim(0)};
}

std::optional<bool> is_contiguous(const Shape& shape, const Layout& layout, MemoryFormat format) {
  const auto axes = inner_first(shape.size(), format);
  if (axes.size() != shape.size()) return false;
  if (is_empty(shape)) return std::is_sorted(axes.rbegin(), axes.rend()) ? Known(true) : Known();
  Dim expected(1);
  bool open = false;
  for (std::size_t a : axes) {
    if (is_known_one(shape[a])) continue;
    if (layout.strides[a] != expected) {
      if (is_one(shape[a]) == false && known_equal(layout.strides[a], expected) == false) return false;
      open = true;
    }
    expected = expected * shape[a];
  }
  return open ? Known() : Known(true);
}

// c10/core/MemoryFormat.h, is_channels_last_strides_2d and _3d.
std::optional<bool> is_suggested(const Shape& shape, const Layout& layout, MemoryFormat format) {
  if (format == MemoryFormat::preserve) return false;  // no tensor has it
  if (format == MemoryFormat::contiguous) {
    const Known flat = is_suggested(shape, layout, MemoryFormat::channels_last);
    const Known deep = is_suggested(shape, layout, MemoryFormat::channels_last_3d);
    return flat && deep ? Known(!*flat && !*deep) : Known();
  }
  const auto axes = inner_first(shape.size(), format);
  if (axes.empty()) return false;
  const auto& strides = layout.strides;
  const Known broadcast = known_equal(strides[1], Dim(0));
  if (broadcast != false) return broadcast ? Known(false) : Known();
  Dim least(0);
  for (std::size_t a : axes) {
    if (shape[a] == Dim(0)) return false;
    const Known falls = known_less(strides[a], least);
    if (falls != false) return falls ? Known(false) : Known();
    if (a == 0) {
      const Known ambiguous = known_equal(least, strides[1]);
      if (ambiguous != false) return ambiguous ? Known(false) : Known();
    }
    const Known counts = known_less(Dim(1), shape[a]);
    if (!counts) return std::nullopt;
    least = *counts ? strides[a] * shape[a] : strides[a];
  }
  return true;
}

std::optional<std::vector<std::int64_t>> memory_order(const Shape& shape, const Layout& layout) {
  std::vector<std::int64_t> order;
  std::vector<std::size_t> left;
  for (std::size_t a = shape.size(); a-- > 0;)
    if (!is_known_one(shape[a])) left.push_back(a);
  Dim expected(1);
  while (!left.empty()) {
    const auto next =
        std::find_if(left.begin(), left.end(), [&](std::size_t a) { return layout.strides[a] == expected; });
    if (next == left.end()) return std::nullopt;
    order.push_back(static_cast<std::int64_t>(*next));
    expected = expected * shape[*next];
    left.erase(next);
  }
  return order;
}

bool is_injective(const Shape& shape, const Layout& layout) {
  if (memory_order(shape, layout)) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, size
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (is_known_one(shape[a])) continue;
    if (!shape[a].is_known() || !layout.strides[a].is_known()) return false;
    axes.emplace_back(layout.strides[a].value(), shape[a].value());
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : axes) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

namespace {

/// Sizes, strides and offset as numbers.
struct Places {
  std::vector<std::int64_t> sizes, strides;
  std::int64_t first = 0;

  std::int64_t count() const {
    if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size <= 0; })) return 0;
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies());
  }
  /// The lowest place and the highest.
  std::pair<std::int64_t, std::int64_t> range() const {
    std::pair range(first, first);
    for (std::size_t a = 0; a < sizes.size(); ++a)
      (strides[a] < 0 ? range.first : range.second) += strides[a] * (sizes[a] - 1);
    return range;
  }

  void for_each(auto&& visit) const {
    std::vector<std::int64_t> at(sizes.size());
    for (std::int64_t left = count(), place = first; left > 0; --left) {
      visit(place);
      for (std::size_t a = sizes.size(); a-- > 0;) {
        place += strides[a];
        if (++at[a] < sizes[a]) break;
        place -= at[a] * strides[a];
        at[a] = 0;
      }
    }
  }
};

Places places_of(const Placed& p, const Bindings& symbols) {
  Places out{.first = p.layout.offset->eval(symbols)};
  for (const Dim& d : p.shape) out.sizes.push_back(d.eval(symbols));
  for (const Dim& d : p.layout.strides) out.strides.push_back(d.eval(symbols));
  return out;
}

/// The places that are read for each that is written; nullopt: the operand is no tensor that broadcasts to
/// the result.
std::optional<Places> broadcast(Places read, const Places& written) {
  if (read.sizes.size() > written.sizes.size()) return std::nullopt;
  const std::size_t added = written.sizes.size() - read.sizes.size();
  read.sizes.insert(read.sizes.begin(), added, 1);
  read.strides.insert(read.strides.begin(), added, 0);
  for (std::size_t a = 0; a < read.sizes.size(); ++a) {
    if (read.sizes[a] != written.sizes[a] && read.sizes[a] != 1) return std::nullopt;
    if (read.sizes[a] == 1 && written.sizes[a] > 1) read.strides[a] = 0;
    read.sizes[a] = written.sizes[a];
  }
  return read;
}

/// Each place is read no later than it is written.
bool is_read_in_time(const Places& written, const Places& read) {
  const auto same = broadcast(read, written);
  if (!same || same->first < written.first) return false;
  bool ascends = true;
  for (std::size_t a = 0; a < written.sizes.size(); ++a) {
    if (written.sizes[a] == 1) continue;
    if (same->strides[a] != written.strides[a]) return false;
    ascends = ascends && written.strides[a] >= 0;
  }
  return ascends || same->first == written.first;
}

bool overwrites(const Places& written, const Places& read, ReadBy by_what) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  const auto [low, high] = written.range();
  const bool is_small = std::max({written.count(), read.count(), high - low}) < most;
  if (!is_small || written.count() == 0) return false;
  if (by_what == ReadBy::element && is_read_in_time(written, read)) return false;
  constexpr std::int64_t none = -1;
  std::vector<std::int64_t> written_by(static_cast<std::size_t>(high - low + 1), none);
  std::int64_t element = 0;
  written.for_each(
      [&](std::int64_t place) { written_by[static_cast<std::size_t>(place - low)] = element++; });
  // What broadcasts to the result is read element by element: one may read what it writes itself.
  const auto same = by_what == ReadBy::element ? broadcast(read, written) : std::nullopt;
  bool shared = false;
  element = 0;
  (same ? *same : read).for_each([&](std::int64_t place) {
    const std::int64_t by =
        place < low || place > high ? none : written_by[static_cast<std::size_t>(place - low)];
    shared = shared || (by != none && (!same || by != element));
    ++element;
  });
  return shared;
}

}  // namespace

bool overwrites(const Placed& written, const Placed& read, ReadBy by_what) {
  if (!written.layout.offset || !read.layout.offset) return false;
  std::set<std::string> names;
  for (const Placed* p : {&written, &read})
    for (const std::vector<Dim>* dims : {&p->shape, &p->layout.strides})
      for (const Dim& d : *dims)
        for (std::string& name : d.symbols()) names.insert(std::move(name));
  for (const Placed* p : {&written, &read})
    for (std::string& name : p->layout.offset->symbols()) names.insert(std::move(name));
  // Of sizes that vary, some are tried.
  for (const std::int64_t size : {5, 8}) {
    Bindings symbols;
    for (const std::string& name : names) symbols.emplace(name, size);
    if (!overwrites(places_of(written, symbols), places_of(read, symbols), by_what)) return false;
  }
  return true;
}

// TensorIteratorBase::fast_set_up and reorder_dimensions.
std::optional<Layout> pointwise_layout(const Shape& result, std::span<const Placed> operands) {
  const Known contiguous = all_of(operands, [](const Placed& p) { return is_contiguous(p.shape, p.layout); });
  if (contiguous == true) return dense_layout(result);
  const bool same_shape =
      std::all_of(operands.begin(), operands.end(), [&](const Placed& p) { return p.shape == result; });
  if (same_shape) {
    if (!contiguous) return std::nullopt;
    for (const auto format : {MemoryFormat::channels_last, MemoryFormat::channels_last_3d}) {
      const Known last =
          all_of(operands, [&](const Placed& p) { return is_contiguous(p.shape, p.layout, format); });
      if (!last) return std::nullopt;
      if (*last) return dense_layout(result, format);
    }
    const bool alike = std::all_of(operands.begin(), operands.end(), [&](const Placed& p) {
      return p.layout.strides == operands[0].layout.strides && memory_order(p.shape, p.layout);
    });
    if (alike) return Layout{operands[0].layout.strides, Dim(0)};
  }
  // Whether axis a lies inside of b (-1), outside (1), or the operands do not say (0).
  bool open = false;
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (const Placed& p : operands) {
      const std::size_t added = result.size() - p.shape.size();
      const auto stride_of = [&](std::size_t axis) {
        if (axis < added) return Dim(0);
        const Dim& size = p.shape[axis - added];
        if (size == result[axis]) return p.layout.strides[axis - added];
        open |= !is_known_one(size);
        return Dim(0);
      };
      const Dim x = stride_of(a), y = stride_of(b);
      if (x == Dim(0) || y == Dim(0)) continue;
      if (x == y) {
        const Known larger = known_less(result[b], result[a]);
        open |= !larger;
        if (larger == true) return 1;
        continue;
      }
      const Known less = known_less(x, y), more = known_less(y, x);
      if (less == true) return -1;
      if (more == true) return 1;
      open = true;
    }
    return 0;
  };
  std::vector<std::size_t> order(result.size());
  std::iota(order.rbegin(), order.rend(), 0);
  for (std::size_t i = 1; i < order.size(); ++i)
    for (std::size_t inner = i, outer = i; inner-- > 0;) {
      const int found = compare(order[inner], order[outer]);
      if (found > 0) {
        std::swap(order[inner], order[outer]);
        outer = inner;
      } else if (found < 0) {
        break;
      }
    }
  if (open) return std::nullopt;
  return Layout{packed(result, order), Dim(0)};
}

std::optional<Layout> layout_of_copy(const Shape& shape, const Layout& layout) {
  if (memory_order(shape, layout)) return Layout{layout.strides, Dim(0)};
  const Placed one[] = {{shape, layout}};
  return pointwise_layout(shape, one);
}

namespace {

/// The layout when only axes of size 1 come and go.
std::optional<Layout> with_other_ones(const Shape& from, const Layout& layout, const Shape& to) {
  Layout out{std::vector<Dim>(to.size()), layout.offset};
  std::size_t i = from.size();
  Dim outside(1);
  for (std::size_t k = to.size(); k-- > 0;) {
    while (i > 0 && is_known_one(from[i - 1]) && !is_known_one(to[k])) --i;
    if (i > 0 && from[i - 1] == to[k]) {
      out.strides[k] = layout.strides[--i];
      outside = out.strides[k] * to[k];
    } else if (is_known_one(to[k])) {
      out.strides[k] = outside;
    } else {
      return std::nullopt;
    }
  }
  while (i > 0 && is_known_one(from[i - 1])) --i;
  return i == 0 ? std::optional(std::move(out)) : std::nullopt;
}

bool all_known(std::span<const Dim> dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_known(); });
}

}  // namespace

// at::detail::computeStride.
Reshaping reshaping(const Shape& from, const Layout& layout, const Shape& to) {
  if (auto same = with_other_ones(from, layout, to)) return {true, std::move(same)};
  if (is_contiguous(from, layout) == true) return {true, Layout{dense_layout(to).strides, layout.offset}};
  if (!all_known(from) || !all_known(to) || !all_known(layout.strides)) return {};
  Layout out{std::vector<Dim>(to.size()), layout.offset};
  std::size_t k = to.size();
  std::int64_t base = layout.strides.back().value(), elements = 1, viewed = 1;
  for (std::size_t i = from.size(); i-- > 0;) {
    elements *= from[i].value();
    const bool ends =
        i == 0 || (!is_known_one(from[i - 1]) && layout.strides[i - 1].value() != elements * base);
    if (!ends) continue;
    while (k > 0 && (viewed < elements || is_known_one(to[k - 1]))) {
      out.strides[--k] = Dim(viewed * base);
      viewed *= to[k].value();
    }
    if (viewed != elements) return {false, std::nullopt};
    if (i == 0) break;
    base = layout.strides[i - 1].value();
    elements = viewed = 1;
  }
  if (k != 0) return {false, std::nullopt};
  return {true, std::move(out)};
}

}  // namespace tenon::converter
