// The place in the author's code that a node of a graph came from.
#pragma once
#include <torch/csrc/jit/frontend/source_range.h>

#include <string>

namespace tenon::libtorch {

struct SourceLocation {
  std::string file;
  int line = 0;
  std::string function, text;
  auto operator<=>(const SourceLocation&) const = default;
};

/// Scripted code: the line itself. Traced code: the innermost frame outside PyTorch's own files. Code without
/// a known author: the line of the file's own code. Line 0: nothing is known.
SourceLocation location_of(const torch::jit::SourceRange& range);

}  // namespace tenon::libtorch
