// The order in which nodes run.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "converter/onnx/onnx.pb.h"

namespace tenon::converter::onnx {

/// True when every name that the node and its sub-graphs read is known. Names that a sub-graph defines itself
/// count as known.
bool is_ready(const NodeProto&, const std::function<bool(std::string_view)>& is_known);

/// The nodes from `first` on, each behind those whose outputs it reads, otherwise as they stand. Nodes that
/// wait for each other, and those behind them, come last.
std::vector<const NodeProto*> in_order(const google::protobuf::RepeatedPtrField<NodeProto>&, int first);

}  // namespace tenon::converter::onnx
