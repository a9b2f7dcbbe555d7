#include "ir/hint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/shell.h"
#include "base/utf8.h"
#include "ir/graph.h"

namespace tenon::hint {
namespace {

// A file named like the input, without what a folder or a shell would see in it.
std::string file_of(std::string_view name) {
  std::string file(name.empty() ? "input" : name);
  for (char& c : file)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') c = '_';
  return file + ".npy";
}

// "f32" is "float32" in NumPy; empty for what NumPy lacks.
std::string numpy_name(DType dtype) {
  const std::string_view digits = name(dtype).substr(1);
  const bool plain = digits == "8" || digits == "16" || digits == "32" || digits == "64";
  if (is_bool(dtype)) return "bool";
  if (!plain) return {};
  return (is_float(dtype) ? "float" : name(dtype)[0] == 'u' ? "uint" : "int") + std::string(digits);
}

SymbolInfo info_of(const Graph& graph, const std::string& symbol) {
  const auto found = graph.symbols.find(symbol);
  return found == graph.symbols.end() ? SymbolInfo{} : found->second;
}

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> names;
  for (const auto& p : graph.body().parameters())
    for (const Dim& d : p->shape())
      for (std::string& symbol : d.symbols()) names.insert(std::move(symbol));
  return names;
}

}  // namespace

std::string input(std::string_view name, std::string_view value) {
  return "--input " + in_shell(fmt::format("{}{}{}", name, name.empty() ? "" : "=", value));
}

std::string input(std::string_view name, const Type& type) { return input(name, type.str()); }

std::string file(std::string_view name) { return input(name, file_of(name)); }

std::string files(const std::vector<std::string>& names) {
  std::vector<std::string> flags;
  for (const std::string& name : names) flags.push_back(file(name));
  return fmt::format("{}", fmt::join(flags, " "));
}

std::string varying(const Value& value, std::size_t axis) {
  Type type = value.type();
  type.shape[axis] = Dim::symbol(axis == 0 ? "N" : fmt::format("d{}", axis));
  return input(value.name(), type);
}

std::string conversion(DType given, DType wanted) {
  if (is_string(given) || numpy_name(wanted).empty()) return {};
  return fmt::format("convert the array before it is saved: array.astype('{}')", numpy_name(wanted));
}

std::string axes(std::span<const std::int64_t> given, const Shape& expected) {
  const auto fits = [](std::int64_t size, const Dim& d) { return !d.is_known() || d == size; };
  if (given.size() + 1 == expected.size() && fits(1, expected[0]) &&
      std::equal(given.begin(), given.end(), expected.begin() + 1, fits))
    return "it lacks the first axis: numpy.expand_dims(array, 0)";
  if (given.size() != expected.size()) return {};
  std::vector<std::size_t> order;
  std::vector<bool> used(given.size());
  for (const Dim& d : expected) {
    std::size_t axis = 0;
    while (axis < given.size() && (used[axis] || !d.is_known() || d != given[axis])) ++axis;
    if (axis == given.size() && !d.is_known())
      axis = static_cast<std::size_t>(std::find(used.begin(), used.end(), false) - used.begin());
    if (axis == given.size()) return {};
    used[axis] = true;
    order.push_back(axis);
  }
  if (std::is_sorted(order.begin(), order.end())) return {};
  return fmt::format("its axes stand in another order: array.transpose({})", fmt::join(order, ", "));
}

std::string sizes(const Bindings& bindings) {
  std::string text;
  for (const auto& [symbol, size] : bindings)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", symbol, size);
  return text;
}

std::string shape(const Bindings& bindings) {
  std::string flags;
  for (const auto& [symbol, size] : bindings)
    flags += fmt::format("{}--shape {}={}", flags.empty() ? "" : " ", symbol, size);
  return flags;
}

std::string shape(const Graph& graph, std::int64_t size) {
  Bindings bindings;
  for (const std::string& symbol : symbols_of(graph)) {
    const SymbolInfo info = info_of(graph, symbol);
    bindings.emplace(symbol, std::clamp(size, info.min, info.max));
  }
  return shape(bindings);
}

std::string range(const SymbolInfo& info) {
  return info.max == SymbolInfo{}.max ? fmt::format("any size from {}", info.min)
                                      : fmt::format("{} to {}", info.min, info.max);
}

std::vector<std::string> symbols(const Graph& graph) { return symbols(graph, symbols_of(graph)); }

std::vector<std::string> symbols(const Graph& graph, const std::set<std::string>& names) {
  std::vector<std::string> lines;
  for (const std::string& symbol : names) {
    const SymbolInfo info = info_of(graph, symbol);
    lines.push_back(fmt::format("{}: {}{}", symbol, range(info),
                                info.note.empty() ? "" : " (" + printable(info.note) + ")"));
  }
  return lines;
}

}  // namespace tenon::hint
