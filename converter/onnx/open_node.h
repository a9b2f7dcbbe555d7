// A node with regions while these are being filled.
#pragma once
#include "converter/builder.h"
#include "converter/onnx/operand.h"

namespace tenon::converter::onnx {

/// What is not finished goes away again.
class OpenNode {
 public:
  OpenNode(Builder&, Op, std::vector<Value*> inputs, std::size_t regions);
  ~OpenNode();
  OpenNode(const OpenNode&) = delete;
  OpenNode& operator=(const OpenNode&) = delete;

  Node& node() { return *node_; }
  /// Its outputs; values from around that the regions use become operands.
  Operands finish();

 private:
  Node* node_;
};

}  // namespace tenon::converter::onnx
