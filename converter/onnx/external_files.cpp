// A walk over every tensor of a model, for the one field that says where its data are.
#include "converter/onnx/external_files.h"

#include "base/protobuf.h"

namespace tenon::converter::onnx {
namespace {

class Walk {
 public:
  void graph(const GraphProto& g) {
    for (const TensorProto& t : g.initializer) tensor(t);
    for (const SparseTensorProto& t : g.sparse_initializer) sparse(t);
    nodes(g.node);
  }
  void nodes(const std::vector<NodeProto>& list) {
    for (const NodeProto& n : list) attributes(n.attribute);
  }
  void attributes(const std::vector<AttributeProto>& list) {
    for (const AttributeProto& a : list) {
      if (a.t) tensor(*a.t);
      if (a.sparse_tensor) sparse(*a.sparse_tensor);
      if (a.g) graph(*a.g);
    }
  }

  std::set<std::string> files;

 private:
  void sparse(const SparseTensorProto& t) {
    tensor(t.values);
    tensor(t.indices);
  }
  void tensor(const TensorProto& t) {
    constexpr std::uint64_t external_data = 13;
    ProtobufReader fields(t.bytes);
    while (fields.next())
      if (fields.field() == external_data) entry(fields.bytes());
  }
  void entry(ProtobufReader::Bytes bytes) {
    ProtobufReader fields(bytes);
    std::string key, value;
    while (fields.next()) {
      if (fields.field() == 1) key = fields.text();
      if (fields.field() == 2) value = fields.text();
    }
    if (key == "location") files.insert(value);
  }
};

}  // namespace

std::set<std::string> external_files(const ModelProto& model) {
  Walk walk;
  walk.graph(model.graph);
  for (const FunctionProto& f : model.functions) {
    walk.nodes(f.node);
    walk.attributes(f.attribute_proto);
  }
  return walk.files;
}

}  // namespace tenon::converter::onnx
