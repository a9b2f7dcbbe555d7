// How each operator is written in ONNX: one table a family. What is one to one stands in the operator's
// definition instead (`from`), which serves both directions.
#pragma once
#include <span>
#include <string_view>

#include "exporter/onnx/writer.h"
#include "ir/build.h"
#include "ir/data_size.h"

namespace tenon::exporter::onnx {

/// How an operator is written. The first of these that applies is used.
struct OnnxExportEntry {
  std::string_view name;
  /// Adds nodes and sets the results. Returns false, without adding nodes, when ONNX's operator cannot
  /// express this node. Throws Error(unsupported) with the reason when there is no other way either.
  bool (*write)(OnnxWriter&, const Node&) = nullptr;
  /// Decomposes the node into other operators, which are written next. Empty when there is no decomposition.
  std::vector<Ref> (*compose)(const Node&, std::span<const Ref> operands) = nullptr;
  /// "Softmax(x, axis=axis)": one to one, though ONNX's operator is read in another way.
  std::string_view mapping = {};
};

// The tables: a file of this folder that defines one is found by that.
#define FAMILY(name) std::span<const OnnxExportEntry> name();
#include "exporter/onnx/families.def"

/// Registers these values as the sources of the sizes that they give.
void give_sizes(OnnxWriter&, const std::vector<GivenSize>&, const OnnxValues& values);

/// Writes the nodes of a region. A node that ONNX has no operator for is decomposed. Nodes that cannot be
/// written are listed in `refused`.
void write_nodes(OnnxWriter&, Region&);

}  // namespace tenon::exporter::onnx
