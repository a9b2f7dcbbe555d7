#include "converter/equal_sizes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/hint.h"

namespace tenon::converter {
namespace {

using Types = std::vector<std::pair<std::string, Type>>;
using Substitution = std::map<std::string, Dim, std::less<>>;

bool is_number_or_symbol(const Dim& d) {
  const auto symbols = d.symbols();
  return d.is_known() ? d.value() > 0 : symbols.size() == 1 && d == Dim::symbol(symbols[0]);
}

// What the symbol must be for the sum to be zero, where that is a number or another symbol.
std::optional<Dim> zero_at(const Dim& sum, const std::string& symbol) {
  const auto at = [&](std::int64_t value) { return sum.substitute(Substitution{{symbol, Dim(value)}}); };
  const Dim slope = at(2) - at(1);
  if (at(3) - at(2) != slope || (slope != 1 && slope != -1)) return std::nullopt;
  const Dim rest = at(1) - slope;
  const Dim value = slope == 1 ? -rest : rest;
  return is_number_or_symbol(value) ? std::optional(value) : std::nullopt;
}

// The symbol of the last input that can take another's place, and what it then is.
std::optional<std::pair<std::string, Dim>> equal_by(const Error& failure, const Types& types) {
  if (!failure.unless_equal()) return std::nullopt;
  const Dim sum = Dim::parse(failure.unless_equal()->first) - Dim::parse(failure.unless_equal()->second);
  for (auto type = types.rbegin(); type != types.rend(); ++type)
    for (const Dim& d : type->second.shape)
      for (const std::string& symbol : d.symbols())
        if (const auto value = zero_at(sum, symbol)) return std::pair{symbol, *value};
  return std::nullopt;
}

ConvertOptions with_types(const ConvertOptions& options, const Types& types) {
  ConvertOptions all = options;
  std::erase_if(all.inputs, [](const InputSpec& s) { return std::holds_alternative<Type>(s.value); });
  for (const auto& [name, type] : types) all.inputs.push_back({name, type});
  return all;
}

}  // namespace

Error with_equal_sizes(Error failure, const Graph& inputs, const ConvertOptions& options,
                       const Failure& again) {
  if (!failure.hint().empty() || !failure.unless_equal()) return failure;
  Types types;
  for (const auto& p : inputs.body().parameters()) types.emplace_back(p->name(), p->type());
  std::set<std::string> changed, symbols;
  std::optional<Error> next = failure;
  constexpr int most = 64;  // a cache for each layer of a large model
  for (int round = 0; next && round < most; ++round) {
    const auto equal = equal_by(*next, types);
    if (!equal) break;
    const auto& [symbol, value] = *equal;
    symbols.insert(symbol);
    for (const std::string& other : value.symbols()) symbols.insert(other);
    for (auto& [name, type] : types)
      for (Dim& d : type.shape)
        if (const Dim now = d.substitute(Substitution{{symbol, value}}); now != d) {
          d = now;
          changed.insert(name);
        }
    next = again(with_types(options, types));
  }
  std::vector<std::string> flags;
  for (const auto& [name, type] : types)
    if (changed.contains(name)) flags.push_back(hint::input(name, type));
  if (flags.empty()) return failure;
  return failure.hint(fmt::format("if they are equal, say so: {}, where {}", fmt::join(flags, " "),
                                  fmt::join(hint::symbols(inputs, symbols), ", ")));
}

}  // namespace tenon::converter
