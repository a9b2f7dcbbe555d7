// What the bounds of symbols decide about sizes while a graph is built.
#include <algorithm>
#include <array>
#include <limits>

#include "converter/builder.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

std::map<std::string, DimRange, std::less<>> Builder::ranges() const {
  std::map<std::string, DimRange, std::less<>> out;
  for (const auto& [name, info] : graph_.symbols) {
    out[name] = {info.min, std::nullopt};
    if (info.max != std::numeric_limits<std::int64_t>::max()) out[name].max = info.max;
  }
  return out;
}

std::optional<bool> Builder::known_less(const Dim& a, const Dim& b) const {
  const DimRange difference = (b - a).range(ranges());
  if (difference.min && *difference.min > 0) return true;
  if (difference.max && *difference.max <= 0) return false;
  return std::nullopt;
}

std::optional<bool> Builder::known_equal(const Dim& a, const Dim& b) const {
  if (a == b) return true;
  const std::optional<bool> less = known_less(a, b), more = known_less(b, a);
  if (less == true || more == true) return false;
  if (less == false && more == false) return true;
  return std::nullopt;
}

bool Builder::is_never_one(const Dim& size) {
  if (known_equal(size, Dim(1)) == false || known_less(Dim(1), size) == true) return true;
  auto bounds = ranges();
  for (const auto& [symbol, min] : exported_minima_)
    if (const auto found = bounds.find(symbol); found != bounds.end())
      found->second.min = std::max(found->second.min.value_or(min), min);
  if (size.range(bounds).min.value_or(0) < 2) return false;
  for (const std::string& symbol : size.symbols())
    if (const auto info = graph_.symbols.find(symbol); info != graph_.symbols.end())
      info->second.min = *bounds.at(symbol).min;
  return true;
}

bool Builder::is_one(const Dim& size, std::string_view advice) {
  if (size == Dim(1)) return true;
  if (is_never_one(size)) return false;
  throw unsupported("the rank of the result depends on an axis of size {}, which may be 1 or not", size.str())
      .hint(advice.empty() ? "give that dimension of the input a number" : std::string(advice));
}

void Builder::need_at_least(const Dim& size, const Dim& limit, std::string message) {
  const std::optional<bool> less = known_less(size, limit);
  if (less == true) throw error("{}", message);
  if (!less)
    tenon::apply_all(Check{.message = std::move(message)}, std::array{this->size(size) >= this->size(limit)});
}

bool Builder::assume_never_one(const Dim& size) {
  const auto symbols = size.symbols();
  if (symbols.size() != 1 || size != Dim::symbol(symbols[0]) || is_data_size(symbols[0])) return false;
  std::int64_t& min = graph_.symbols[symbols[0]].min;
  min = std::max<std::int64_t>(min, 2);
  return true;
}

Dim Builder::guarded_min(const Dim& size, const Dim& limit) {
  if (known_less(limit, size) == false) return size;
  const Dim out = min(size, limit);
  const auto symbols = size.symbols();
  if (limit.is_known() && symbols.size() == 1 && size == Dim::symbol(symbols[0]) && !is_data_size(symbols[0]))
    size_guards_.push_back({symbols[0], limit.value(), out.str(), insertion_point_.source.str()});
  return out;
}

}  // namespace tenon::converter
