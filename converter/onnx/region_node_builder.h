// Builds a node with regions.
#pragma once
#include "converter/builder.h"
#include "converter/onnx/operand.h"

namespace tenon::converter::onnx {

/// The destructor removes a node that was not finished.
class RegionNodeBuilder {
 public:
  RegionNodeBuilder(Builder&, Op, std::vector<Value*> inputs, std::size_t regions);
  ~RegionNodeBuilder();
  RegionNodeBuilder(const RegionNodeBuilder&) = delete;
  RegionNodeBuilder& operator=(const RegionNodeBuilder&) = delete;

  Node& node() { return *node_; }
  /// Returns the outputs of the node. Outer values that the regions use become operands.
  Operands finish();

 private:
  Node* node_;
};

}  // namespace tenon::converter::onnx
