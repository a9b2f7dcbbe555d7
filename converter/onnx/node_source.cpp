#include "converter/onnx/node_source.h"

#include <charconv>
#include <string_view>

#include "converter/onnx/onnx.pb.h"

namespace tenon::converter::onnx {

namespace {

std::string module_in_name(std::string_view name) {
  if (!name.starts_with('/')) return std::string(name);
  std::string module, last;
  while (true) {
    name.remove_prefix(1);
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos) return module;
    const std::string part(name.substr(0, slash));
    name.remove_prefix(slash);
    // A child's part may repeat its parent's: /layer1/layer1.0/conv1.
    if (!last.empty() && part.starts_with(last + "."))
      module += part.substr(last.size());
    else
      module += (module.empty() ? "" : ".") + part;
    last = part;
  }
}

/// "['', 'layer1', 'layer1.conv1', 'conv2d']": the last but one.
std::string module_in_scopes(std::string_view scopes) {
  std::string before, last;
  while (true) {
    const std::size_t open = scopes.find('\'');
    if (open == std::string_view::npos) return before;
    const std::size_t close = scopes.find('\'', open + 1);
    if (close == std::string_view::npos) return before;
    before = std::move(last);
    last = scopes.substr(open + 1, close - open - 1);
    scopes.remove_prefix(close + 1);
  }
}

/// The last `File "/home/net.py", line 57`.
void read_line(std::string_view trace, Source& source) {
  const std::size_t file = trace.rfind("File \"");
  if (file == std::string_view::npos) return;
  trace.remove_prefix(file + 6);
  const std::size_t quote = trace.find('"');
  const std::size_t line = trace.find("line ");
  if (quote == std::string_view::npos || line == std::string_view::npos) return;
  const std::string_view path = trace.substr(0, quote);
  source.file = path.substr(path.rfind('/') + 1);
  std::from_chars(trace.data() + line + 5, trace.data() + trace.size(), source.line);
}

}  // namespace

Source source_of(const NodeProto& node) {
  const auto metadata = [&](std::string_view key) -> const std::string* {
    for (const StringStringEntryProto& entry : node.metadata_props())
      if (entry.key() == key) return &entry.value();
    return nullptr;
  };
  Source source;
  const std::string* scopes = metadata("pkg.torch.onnx.name_scopes");
  const std::string module = scopes ? module_in_scopes(*scopes) : module_in_name(node.name());
  if (!module.empty()) source.modules.push_back(module);
  if (const std::string* trace = metadata("pkg.torch.onnx.stack_trace")) read_line(*trace, source);
  return source;
}

}  // namespace tenon::converter::onnx
