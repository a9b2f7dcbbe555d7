#include "converter/onnx/region_node_builder.h"

#include "converter/interpreter/regions.h"

namespace tenon::converter::onnx {

RegionNodeBuilder::RegionNodeBuilder(Builder& build, Op op, std::vector<Value*> inputs, std::size_t regions)
    : node_(build.region().insert_typed(std::move(op), std::move(inputs), {}, regions, nullptr,
                                        build.insertion_point().source)) {}

RegionNodeBuilder::~RegionNodeBuilder() {
  if (node_) node_->parent().erase(node_);
}

Operands RegionNodeBuilder::finish() {
  capture(*node_);
  node_->add_outputs(node_->infer());
  Operands out;
  for (std::size_t i = 0; i < node_->num_outputs(); ++i) out.emplace_back(node_->output(i));
  node_ = nullptr;
  return out;
}

}  // namespace tenon::converter::onnx
