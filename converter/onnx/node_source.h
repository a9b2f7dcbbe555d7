// Where a node of an ONNX graph comes from, as its exporter wrote it down.
#pragma once
#include "ir/source.h"

namespace tenon::converter::onnx {

class NodeProto;

/// The module and line in PyTorch's metadata, else the module in the node's name
/// ("/layer1/layer1.0/conv1/Conv" is layer1.0.conv1).
Source source_of(const NodeProto&);

}  // namespace tenon::converter::onnx
