#include "ir/hint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/shell.h"
#include "base/utf8.h"
#include "ir/graph.h"

namespace tenon::hint {
namespace {

// A name that ends where the value begins: split_name() of the command line takes it apart.
std::string name_of(std::string_view name) {
  const bool is_plain = name.find_first_of("=/\"") == std::string_view::npos;
  return is_plain ? std::string(name) : fmt::format("\"{}\"", name);
}

// Named like the input, without what a folder or a shell would see in it, of a length that a file's name may
// have.
std::string file_stem(std::string_view name) {
  constexpr std::size_t longest = 100;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  std::size_t end = std::min(name.size(), longest);
  while (end > 0 && end < name.size() && continues(name[end])) --end;
  std::string stem(name.empty() ? "input" : name.substr(0, end));
  for (char& c : stem) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && !std::isalnum(byte) && c != '_' && c != '-' && c != '.') c = '_';
  }
  return stem;
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
  return "--input " +
         in_shell(fmt::format("{}{}{}", name_of(printable(name)), name.empty() ? "" : "=", value));
}

std::string input(std::string_view name, const Type& type) { return input(name, type.str()); }

std::string file(std::string_view name) { return files({std::string(name)}); }

std::string files(const std::vector<std::string>& names) {
  std::vector<std::string> flags;
  std::set<std::string> taken;
  for (const std::string& name : names) {
    const std::string stem = file_stem(printable(name));
    std::string file = stem;
    for (int k = 2; !taken.insert(file).second; ++k) file = fmt::format("{}_{}", stem, k);
    flags.push_back(input(name, file + ".npy"));
  }
  return fmt::format("{}", fmt::join(flags, " "));
}

std::string varying(const Value& value, std::size_t axis) {
  Type type = value.type();
  type.shape[axis] = Dim::symbol(axis == 0 ? "N" : fmt::format("d{}", axis));
  return input(value.name(), type);
}

std::string conversion(DType given, DType wanted) {
  if (numpy_name(wanted).empty()) return {};
  if (is_string(given)) return fmt::format("give an array of {}", numpy_name(wanted));
  return fmt::format("convert the array before it is saved: array.astype('{}')", numpy_name(wanted));
}

namespace {

bool fits(const Index& sizes, const Shape& expected) {
  Bindings known;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim& d = expected[i];
    const auto symbols = d.symbols();
    const bool is_symbol = symbols.size() == 1 && d == Dim::symbol(symbols[0]);
    if (d.is_known()
            ? d.value() != sizes[i]
            : is_symbol && !known.emplace(symbols[0], sizes[i]).second && known[symbols[0]] != sizes[i])
      return false;
  }
  return true;
}

// The first order of its axes, with one of size 1 before them where it lacks one, in which the array fits.
std::string axes(const Index& given, const Shape& expected) {
  constexpr std::size_t most = 6;
  const bool lacks_one = given.size() + 1 == expected.size();
  if (given.size() > most || (given.size() != expected.size() && !lacks_one)) return {};
  std::vector<std::size_t> order(given.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    Index sizes(lacks_one ? 1 : 0, 1);
    for (const std::size_t axis : order) sizes.push_back(given[axis]);
    if (!fits(sizes, expected)) continue;
    const bool is_turned = !std::is_sorted(order.begin(), order.end());
    if (is_turned)
      return fmt::format("its axes stand in another order{}: array.transpose({}){}",
                         lacks_one ? ", and it lacks the first one" : "", fmt::join(order, ", "),
                         lacks_one ? "[None]" : "");
    return lacks_one ? "it lacks the first axis: numpy.expand_dims(array, 0)" : "";
  } while (std::next_permutation(order.begin(), order.end()));
  return {};
}

}  // namespace

std::string array(const Type& given, const Type& wanted) {
  std::string text = given.dtype == wanted.dtype ? "" : conversion(given.dtype, wanted.dtype);
  const auto sizes = known_sizes(given.shape);
  const std::string turned = sizes ? axes(*sizes, wanted.shape) : "";
  return text + (text.empty() || turned.empty() ? "" : "; ") + turned;
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
