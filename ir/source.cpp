#include "ir/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace tenon {
namespace {

// "layer1.0.conv1" -> "layer1.0." and "conv1"
std::pair<std::string_view, std::string_view> split_last(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::pair{std::string_view{}, path}
                                       : std::pair{path.substr(0, dot + 1), path.substr(dot + 1)};
}

}  // namespace

std::string Source::modules_text() const {
  std::string text;
  for (std::size_t i = 0; i < modules.size();) {
    const std::string_view prefix = split_last(modules[i]).first;
    std::size_t end = i + 1;
    while (end < modules.size() && split_last(modules[end]).first == prefix) ++end;
    if (!text.empty()) text += ", ";
    text += prefix;
    if (end - i > 1) text += '{';
    for (std::size_t j = i; j < end; ++j) {
      if (j > i) text += ',';
      text += split_last(modules[j]).second;
    }
    if (end - i > 1) text += '}';
    i = end;
  }
  return printable(text);
}

std::vector<std::string> Source::parse_modules(std::string_view text) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    int depth = 0;
    while (end < text.size() && (text[end] != ',' || depth > 0)) {
      depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
      ++end;
    }
    std::string_view item = text.substr(at, end - at);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    const auto open = item.find('{');
    if (open == std::string_view::npos || item.back() != '}') {
      out.emplace_back(item);
    } else {
      std::string_view names = item.substr(open + 1, item.size() - open - 2);
      while (true) {
        const auto comma = names.find(',');
        out.push_back(std::string(item.substr(0, open)) + std::string(names.substr(0, comma)));
        if (comma == std::string_view::npos) break;
        names.remove_prefix(comma + 1);
      }
    }
    at = end + 1;
  }
  return out;
}

std::string Source::str() const {
  const std::string name = printable(file);
  const std::string place = line > 0 && !name.empty() ? fmt::format("{}:{}", name, line) : name;
  const std::string path = modules_text();
  if (path.empty()) return place;
  return place.empty() ? path : fmt::format("{} ({})", path, place);
}

void Source::merge(const Source& other) {
  const auto inside = [](const std::string& part, const std::string& whole) {
    return whole.empty() || part == whole || (part.starts_with(whole) && part[whole.size()] == '.');
  };
  for (const std::string& m : other.modules) {
    if (std::any_of(modules.begin(), modules.end(), [&](const std::string& own) { return inside(own, m); }))
      continue;
    std::erase_if(modules, [&](const std::string& own) { return inside(m, own); });
    modules.push_back(m);
  }
  if (file.empty()) {
    file = other.file;
    line = other.line;
  }
}

}  // namespace tenon
