// model.tenon: a graph with its weights, goldens and notes, in one safetensors file.
#pragma once
#include <memory>

#include "ir/graph.h"
#include "ir/safetensors.h"

namespace tenon {

/// Inputs and the outputs that the source model gave for them, in the graph's order.
struct Golden {
  std::vector<Tensor> inputs, outputs;
};

struct Artifact {
  std::shared_ptr<const Graph> graph;
  std::vector<Golden> goldens;
  TextMap notes;  // whatever the tools want to keep: "source", "verified", "precision"...
};

/// Weights are tensors under their names, goldens are tensors golden.K.in.NAME and golden.K.out.NAME (bool,
/// complex and all other dtypes of the format; strings as bytes), the IR text and everything else is
/// metadata. Weights are written one by one. Returns the file's size.
std::size_t save_artifact(const Artifact& artifact, const std::filesystem::path& path);

/// Maps the file; weights are views of it, and its values their own origins. Nothing in it is trusted: throws
/// Error naming the file and what is wrong: not an artifact, a newer version, data that do not agree with
/// their checksums, a weight that the graph does not declare or lacks.
Artifact load_artifact(const std::filesystem::path& path);

}  // namespace tenon
