#include "converter/declared_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "ir/hint.h"

namespace tenon::converter {
namespace {

namespace ts = torchscript;

constexpr const char* kExportAgain =
    "export the model again with another dynamic_shapes: a torch.export.Dim where a size may vary";

std::string place_of(std::size_t axis, const std::string& input) {
  return fmt::format("dim {} of input {}", axis, input);
}

std::string text_of(const ts::SizeRange& range) { return hint::range({range.min, range.max, ""}); }

bool is_symbol(const Dim& d) {
  const auto symbols = d.symbols();
  return symbols.size() == 1 && d == Dim::symbol(symbols[0]);
}

/// Where k*s+c is `value`; nullopt when nowhere, or when the expression is not linear.
std::optional<std::int64_t> solved(const Dim& expression, const std::string& symbol, std::int64_t value) {
  const auto at = [&](std::int64_t s) { return expression.eval({{symbol, s}}); };
  const std::int64_t slope = at(2) - at(1), offset = at(1) - slope;
  if (slope == 0 || at(3) != 3 * slope + offset || (value - offset) % slope != 0) return std::nullopt;
  return (value - offset) / slope;
}

/// A size within the range that many numbers divide, since a file may promise that they do.
std::int64_t sample(const SymbolInfo& info, std::size_t round) {
  constexpr std::array<std::int64_t, 10> sizes = {48, 720, 240, 360, 24, 96, 12, 6, 4, 2};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = sizes[(i + round) % sizes.size()];
    if (size >= info.min && size <= info.max) return size;
  }
  return info.max;
}

/// Whether two sizes are the same wherever both can be computed.
bool equal_in_value(const Dim& a, const Dim& b, const Graph& graph) {
  if (a == b) return true;
  if (a.is_known() && b.is_known()) return false;
  std::set<std::string> symbols;
  for (const Dim* d : {&a, &b})
    for (std::string& name : d->symbols()) symbols.insert(std::move(name));
  constexpr std::size_t rounds = 4;
  for (std::size_t round = 0; round < rounds; ++round) {
    Bindings bindings;
    std::size_t at = round;
    for (const std::string& name : symbols) {
      const auto info = graph.symbols.find(name);
      bindings[name] = sample(info == graph.symbols.end() ? SymbolInfo{} : info->second, at++);
    }
    if (a.eval(bindings) != b.eval(bindings)) return false;
  }
  return true;
}

/// A symbol; 0 where it can be nothing else, since symbols stand for sizes from 1 on.
Dim open_size(const std::string& symbol, const ts::SizeRange& range, const std::string& place,
              const Graph& graph) {
  const auto info = graph.symbols.find(symbol);
  if (info == graph.symbols.end() || info->second.max > 0) return Dim::symbol(symbol);
  if (range.min > 0)
    throw error("{} is 0, the graph allows {}", place, text_of(range))
        .hint(hint::shape(Bindings{{symbol, range.min}}));
  return 0;
}

/// The least size that the exporter reckoned with: never 0, though a range may begin there.
std::int64_t reckoned(const ts::SizeRange& range) { return std::max<std::int64_t>(range.exported_min, 1); }

}  // namespace

ts::SizeRange DeclaredTypes::range_of(const std::string& symbol) const {
  const auto found = ranges_.find(symbol);
  return found == ranges_.end() ? ts::SizeRange{} : found->second;
}

void DeclaredTypes::take(const std::string& symbol, const Dim& size, const std::string& place, Graph& graph) {
  const ts::SizeRange range = range_of(symbol);
  if (size.is_known()) {
    is_foreseen_ = is_foreseen_ && size.value() >= reckoned(range);
    if (size.value() < range.min || size.value() > range.max)
      throw error("{} is {}, but the file was exported for {}", place, size.value(), text_of(range))
          .hint(kExportAgain);
    if (const auto info = graph.symbols.find(symbol); info != graph.symbols.end()) info->second.note = place;
  } else if (is_symbol(size)) {
    SymbolInfo& info = graph.symbols[size.str()];
    info.min = std::max(info.min, range.min);
    info.max = std::min(info.max, range.max);
    if (info.note.empty()) info.note = place;
    std::int64_t& exported = minima_[size.str()];
    exported = std::max(exported, range.exported_min);
  } else {
    throw error("{} is given as {}", place, size.str()).hint("give it a number or a name");
  }
  sizes_.emplace(symbol, size);
}

void DeclaredTypes::narrow(const std::string& input, const ts::Type& declared, const Type& given,
                           Graph& graph) {
  const auto& sizes = *declared.declared_sizes;
  if (given.dtype != *declared.dtype || given.rank() != sizes.size())
    throw error("input {} is given as {}, but the file was exported for {} of rank {}", input, given.str(),
                name(*declared.dtype), sizes.size())
        .hint(given.rank() == sizes.size()
                  ? fmt::format("{}, or export the model again with an input of {}",
                                hint::input(input, Type{*declared.dtype, given.shape}), name(given.dtype))
                  : std::string(kExportAgain));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].empty()) continue;
    const Dim wanted = Dim::parse(sizes[i]);
    const std::string place = place_of(i, input);
    if (is_symbol(wanted) && !sizes_.contains(sizes[i])) {
      take(wanted.str(), given.shape[i], place, graph);
    } else if (wanted.is_known() && wanted != given.shape[i]) {
      throw error("{} is given as {}, but the file was exported with {} there", place, given.shape[i].str(),
                  wanted.value())
          .hint(kExportAgain);
    } else if (!wanted.is_known()) {
      equations_.push_back({place, wanted, given.shape[i]});
    }
  }
}

void DeclaredTypes::settle() {
  for (const Equation& e : equations_) {
    const auto symbols = e.declared.symbols();
    if (symbols.size() != 1 || sizes_.contains(symbols[0]) || !e.given.is_known()) continue;
    const auto size = solved(e.declared, symbols[0], e.given.value());
    const ts::SizeRange range = range_of(symbols[0]);
    if (!size || *size < range.min || *size > range.max) continue;
    is_foreseen_ = is_foreseen_ && *size >= reckoned(range);
    sizes_.emplace(symbols[0], Dim(*size));
  }
  for (const Equation& e : equations_) {
    const Dim size = e.declared.substitute(sizes_);
    if (size == e.given) continue;
    throw error("{} is given as {}, but the file was exported with {} there, {}", e.place, e.given.str(),
                e.declared.str(), size == e.declared ? ranges_text(size) : "which is " + size.str())
        .hint("give sizes that fit together, or leave --input out");
  }
}

std::string DeclaredTypes::ranges_text(const Dim& size) const {
  std::vector<std::string> ranges;
  for (const std::string& symbol : size.symbols())
    ranges.push_back(fmt::format("{}: {}", symbol, text_of(range_of(symbol))));
  return fmt::format("for {}", fmt::join(ranges, " and "));
}

Type DeclaredTypes::input_type(const std::string& input, const ts::Type& declared, Graph& graph) {
  Type type{*declared.dtype, {}};
  for (std::size_t i = 0; i < declared.declared_sizes->size(); ++i) {
    const std::string& size = (*declared.declared_sizes)[i];
    if (size.empty()) throw unsupported("{} has a size that has no form here", place_of(i, input));
    const Dim dim = Dim::parse(size);
    for (const std::string& symbol : dim.symbols())
      if (!sizes_.contains(symbol)) {
        const std::string place = place_of(i, input);
        take(symbol, open_size(symbol, range_of(symbol), place, graph), place, graph);
      }
    type.shape.push_back(dim.substitute(sizes_));
  }
  return type;
}

std::optional<Dim> DeclaredTypes::known_size(const std::string& declared) const {
  if (declared.empty()) return std::nullopt;
  const Dim dim = Dim::parse(declared);
  for (const std::string& symbol : dim.symbols())
    if (!sizes_.contains(symbol)) return std::nullopt;
  return dim.substitute(sizes_);
}

std::optional<std::string> DeclaredTypes::difference(const Type& got, const ts::Type& declared,
                                                     const Graph& graph) const {
  if (!is_foreseen_) return std::nullopt;
  const auto& sizes = *declared.declared_sizes;
  bool equal = got.dtype == *declared.dtype && got.rank() == sizes.size();
  for (std::size_t i = 0; equal && i < sizes.size(); ++i) {
    const auto wanted = known_size(sizes[i]);
    // Of a size that the data give, the exporter may know more: that nothing is selected of nothing.
    equal = !wanted || has_data_size(got.shape[i]) || equal_in_value(got.shape[i], *wanted, graph);
  }
  if (equal) return std::nullopt;
  return fmt::format("a result is {} here, but {}[{}] in the file", got.str(), name(*declared.dtype),
                     fmt::join(sizes, ","));
}

}  // namespace tenon::converter
