// A walk over every tensor of a model, for the one field that says where its data are.
#include "converter/onnx/external_files.h"

#include "converter/onnx/onnx.pb.h"

namespace tenon::converter::onnx {
namespace {

class Walk {
 public:
  void graph(const GraphProto& g) {
    for (const TensorProto& t : g.initializer()) tensor(t);
    for (const SparseTensorProto& t : g.sparse_initializer()) sparse(t);
    nodes(g.node());
  }
  template <class Nodes>
  void nodes(const Nodes& list) {
    for (const NodeProto& n : list) attributes(n.attribute());
  }
  template <class Attributes>
  void attributes(const Attributes& list) {
    for (const AttributeProto& a : list) {
      tensor(a.t());
      sparse(a.sparse_tensor());
      if (a.has_g()) graph(a.g());
    }
  }

  std::set<std::string> files;

 private:
  void sparse(const SparseTensorProto& t) {
    tensor(t.values());
    tensor(t.indices());
  }
  void tensor(const TensorProto& t) {
    for (const StringStringEntryProto& entry : t.external_data())
      if (entry.key() == "location") files.insert(entry.value());
  }
};

}  // namespace

std::set<std::string> external_files(const Model& model) {
  Walk walk;
  walk.graph(model.proto->graph());
  for (const FunctionProto& f : model.proto->functions()) {
    walk.nodes(f.node());
    walk.attributes(f.attribute_proto());
  }
  return walk.files;
}

}  // namespace tenon::converter::onnx
