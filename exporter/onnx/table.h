// How each operator is written in ONNX: one table a family. What is one to one stands in the operator's
// definition instead (`from`), which serves both directions.
#pragma once
#include <span>
#include <string_view>

#include "exporter/onnx/writer.h"
#include "ir/build.h"
#include "ir/data_size.h"

namespace tenon::exporter::onnx {

/// An operator is written by the first of these that can.
struct Entry {
  std::string_view name;
  /// Adds nodes and sets the results. False: they do not say what this node does, and none was added. Throws
  /// Error(unsupported) with the reason when there is no other way either.
  bool (*write)(Writer&, const Node&) = nullptr;
  /// The results by means of other operators, which are written in turn; none: it is not made of others.
  std::vector<Ref> (*compose)(const Node&, std::span<const Ref> operands) = nullptr;
  /// "Softmax(x, axis=axis)": one to one, though ONNX's operator is read in another way.
  std::string_view mapping = {};
};

// The tables: a file of this folder that defines one is found by that.
#define FAMILY(name) std::span<const Entry> name();
#include "exporter/onnx/families.def"

/// Says what computes the sizes that these values tell.
void give_sizes(Writer&, const std::vector<GivenSize>&, const Operands& values);

/// Writes the nodes of a region. Those that ONNX has no operator for are replaced by what they are made of;
/// what cannot be written is listed in `refused`.
void write_nodes(Writer&, Region&);

}  // namespace tenon::exporter::onnx
