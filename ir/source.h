// Where a node came from: module paths of the source model and a line of its Python code.
#pragma once
#include <string>
#include <vector>

namespace tenon {

/// Fused nodes keep the modules of all they replaced, in order, each once.
struct Source {
  std::vector<std::string> modules;  // "layer1.0.conv1"
  std::string file;                  // "resnet.py", empty when unknown
  int line = 0;

  bool empty() const { return modules.empty() && file.empty(); }
  /// "layer1.0.{conv1,bn1,relu}"
  std::string modules_text() const;
  /// Reads modules_text()'s form.
  static std::vector<std::string> parse_modules(std::string_view text);
  /// "layer1.0.conv1 (resnet.py:57)": for messages.
  std::string str() const;
  /// Adds the modules of another source, but none that holds one already there; keeps the own line unless it
  /// has none.
  void merge(const Source& other);
  bool operator==(const Source&) const = default;
};

}  // namespace tenon
