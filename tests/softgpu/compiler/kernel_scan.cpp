// Reads from each "__softgpu_global__" to the body or the semicolon.
#include "compiler/kernel_scan.h"

#include <cctype>
#include <string_view>

namespace softgpu {
namespace {

constexpr std::string_view kGlobal = "__softgpu_global__", kBounds = "__softgpu_bounds__";

/// The position after the bracket that closes the one at `open`.
size_t after_brackets(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); i++) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (!depth) return i + 1;
  }
  return text.size();
}

/// Up to the first comma that stands in no brackets.
std::string_view first_argument(std::string_view arguments) {
  int depth = 0;
  for (size_t i = 0; i < arguments.size(); i++) {
    depth += arguments[i] == '(';
    depth -= arguments[i] == ')';
    if (arguments[i] == ',' && !depth) return arguments.substr(0, i);
  }
  return arguments;
}

/// Takes __launch_bounds__(...) out of a declaration's head.
std::string take_bounds(std::string& head) {
  const size_t begin = head.find(kBounds);
  if (begin == head.npos) return "0";
  const size_t open = head.find('(', begin), end = after_brackets(head, open);
  std::string bound(first_argument(std::string_view(head).substr(open + 1, end - open - 2)));
  head.erase(begin, end - begin);
  return bound;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The word before the first bracket.
std::string function_name(std::string_view head) {
  size_t end = head.find('(');
  if (end == head.npos) return "";
  while (end && std::isspace(static_cast<unsigned char>(head[end - 1]))) end--;
  size_t begin = end;
  while (begin && is_word(head[begin - 1])) begin--;
  return std::string(head.substr(begin, end - begin));
}

bool is_template(const std::string& text, size_t position) {
  const size_t before = text.find_last_of(";{}", position);
  const size_t begin = before == text.npos ? 0 : before;
  return std::string_view(text).substr(begin, position - begin).find("template") != std::string_view::npos;
}

/// "a::b::" where `head`, the text before a brace, opens the namespace a::b.
std::string opened_namespace(std::string_view head) {
  constexpr std::string_view word = "namespace";
  const size_t at = head.find(word);
  if (at == head.npos || head.find_first_of("(=") != head.npos) return "";
  std::string name;
  for (const char c : head.substr(at + word.size()))
    if (is_word(c) || c == ':') name += c;
  return name.empty() ? "" : name + "::";
}

/// The namespaces around positions that move forward. Braces in literals are none.
class Namespaces {
 public:
  explicit Namespaces(std::string_view text) : text_(text) {}

  std::string around(size_t position) {
    while (at_ < position) step();
    std::string names;
    for (const std::string& name : open_) names += name;
    return names;
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"' || (c == '\'' && !is_word(text_[at_ - 1]))) return skip_literal(c);
    if (c == '{') open_.push_back(opened_namespace(text_.substr(head_, at_ - head_)));
    if (c == '}' && !open_.empty()) open_.pop_back();
    at_++;
    if (c == '{' || c == '}' || c == ';') head_ = at_;
  }
  void skip_literal(char quote) {
    for (at_++; at_ < text_.size() && text_[at_] != quote; at_++) at_ += text_[at_] == '\\';
    at_++;
  }

  std::string_view text_;
  size_t at_ = 0, head_ = 0;
  std::vector<std::string> open_;  // empty for braces of other things
};

}  // namespace

std::vector<KernelName> find_kernels(const std::string& text) {
  std::vector<KernelName> found;
  Namespaces namespaces(text);
  for (size_t at = 0; (at = text.find(kGlobal, at)) != text.npos; at += kGlobal.size()) {
    const size_t begin = at + kGlobal.size(), end = text.find_first_of("{;", begin);
    if (end == text.npos || text[end] == ';' || is_template(text, at)) continue;
    std::string head = text.substr(begin, end - begin);
    const std::string bound = take_bounds(head);
    if (const std::string name = function_name(head); !name.empty())
      found.push_back({name, namespaces.around(at), bound});
  }
  return found;
}

}  // namespace softgpu
