// The place in the author's code that a node of a graph came from.
#include "converter/libtorch/source_location.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::libtorch {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_inside_torch(std::string_view file) {
  for (const std::string_view part : {"/torch/nn/", "/torch/jit/", "/torch/_", "/torch/functional.py",
                                      "/torch/utils/", "/torch/autograd/"}) {
    if (file.find(part) != std::string_view::npos) return true;
  }
  return false;
}

/// A line "path.py(12): forward" of the stack a trace keeps.
std::optional<SourceLocation> frame_of(std::string_view text) {
  const auto close = text.rfind("): ");
  if (close == std::string_view::npos) return std::nullopt;
  const auto open = text.rfind('(', close);
  if (open == std::string_view::npos) return std::nullopt;
  SourceLocation location;
  const auto number = text.substr(open + 1, close - open - 1);
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), location.line);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) return std::nullopt;
  location.file = text.substr(0, open);
  location.function = trim(text.substr(close + 3));
  return location;
}

/// The innermost frame outside PyTorch, or the innermost of all.
std::optional<SourceLocation> location_in_stack(std::string_view stack) {
  std::optional<SourceLocation> innermost;
  while (!stack.empty()) {
    const auto end = std::min(stack.find('\n'), stack.size());
    const auto frame = frame_of(stack.substr(0, end));
    if (!frame) break;
    if (!is_inside_torch(frame->file)) {
      const bool is_export_script = frame->function == "<module>" && innermost;
      return is_export_script ? innermost : frame;
    }
    if (!innermost) innermost = frame;
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return innermost;
}

/// "forward", when the last `def` before `here` is "def forward(self, x):".
std::string function_around(std::string_view code, std::size_t here) {
  const auto start = code.rfind("def ", here);
  if (start == std::string_view::npos) return {};
  const auto name = code.substr(start + 4);
  return std::string(trim(name.substr(0, name.find('('))));
}

/// File, line and the line's text; line 0 when the range has no file.
SourceLocation line_of(const torch::jit::SourceRange& range) {
  const auto where = range.file_line_col();
  if (!where || std::get<0>(*where).empty()) return {};
  const auto& source = range.source();
  SourceLocation location;
  location.file = std::get<0>(*where);
  location.line = static_cast<int>(std::get<1>(*where));
  location.text = trim(source->get_line(source->lineno_for_offset(range.start())).str());
  return location;
}

/// A place in the author's files, from the record the exporter kept.
SourceLocation location_in_python(const torch::jit::SourceRange& range) {
  SourceLocation location = line_of(range);
  if (location.line == 0) return location;
  const std::string text = range.source()->text_str().str();
  if (const auto in_stack = location_in_stack(text)) return *in_stack;
  location.function = function_around(text, range.start());
  return location;
}

}  // namespace

SourceLocation location_of(const torch::jit::SourceRange& range) {
  if (!range.source()) return {};
  if (const auto generated = range.findSourceRangeThatGenerated()) {
    SourceLocation location = location_in_python(*generated);
    if (location.line != 0) return location;
  }
  return line_of(range);
}

}  // namespace tenon::libtorch
