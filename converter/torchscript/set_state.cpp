#include "converter/torchscript/set_state.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <vector>

namespace tenon::torchscript {
namespace {

constexpr std::size_t longest_line = 1000;

/// A method: how its definition begins, and what its lines may be, up to `return None`.
struct Method {
  std::regex begin;
  std::vector<std::regex> lines;
};

std::vector<std::regex> patterns(std::initializer_list<const char*> texts) {
  std::vector<std::regex> all;
  for (const char* text : texts) all.emplace_back(text, std::regex::optimize);
  return all;
}

const std::array<Method, 2>& methods() {
  static const std::array<Method, 2> both = {
      Method{std::regex(R"(  def __setstate__\(self: [\w.]+,)"),
             patterns({R"(    state: [\w\[\], .]+\) -> NoneType:)", R"(    self\.\w+ = \(state\)\[\d+\])",
                       R"(    _\d+ = \(self\)\.set_weight_bias\(\(state\)\[\d+\], \(state\)\[\d+\], \))"})},
      Method{std::regex(R"(  def set_weight_bias\(self: [\w.]+,)"),
             patterns({R"(    w: Tensor,)", R"(    b: Optional\[Tensor\]\) -> NoneType:)",
                       R"( +\w+ = self\.\w+)", R"( +if torch\.eq\(\w+, "zeros"\):)", R"( +else:)",
                       R"( +(_\d+, )+= \w+)", R"( +_\d+ = \[[\w, ]*\])",
                       R"( +_\d+ = ops\.quantized\.\w+_prepack\([\w, \[\]]+\))",
                       R"( +self\._packed_params = _\d+)"})}};
  return both;
}

bool matches(const std::string& line, const std::regex& pattern) {
  return line.size() <= longest_line && std::regex_match(line, pattern);
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t n = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

}  // namespace

bool only_packs_weights(std::string_view code) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= code.size();) {
    const auto end = std::min(code.find('\n', at), code.size());
    lines.emplace_back(code.substr(at, end - at));
    at = end + 1;
  }
  std::size_t definitions = 0, calls = 0;
  const Method* inside = nullptr;
  for (const std::string& line : lines) {
    if (!inside) {
      for (const Method& m : methods())
        if (matches(line, m.begin)) inside = &m;
      definitions += inside != nullptr;
      continue;
    }
    if (line == "    return None") {
      inside = nullptr;
      continue;
    }
    if (std::none_of(inside->lines.begin(), inside->lines.end(),
                     [&](const auto& p) { return matches(line, p); }))
      return false;
    calls += count(line, "set_weight_bias");
  }
  // Wherever else the names stand, LibTorch may see a definition that was not looked at.
  return !inside && count(code, "__setstate__") + count(code, "set_weight_bias") == definitions + calls;
}

}  // namespace tenon::torchscript
