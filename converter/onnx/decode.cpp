#include "converter/onnx/decode.h"

#include "base/error.h"
#include "base/utf8.h"
#include "converter/onnx/cut.h"
#include "converter/onnx/onnx.pb.h"

namespace tenon::converter::onnx {

namespace {

using google::protobuf::RepeatedPtrField;

/// Texts of the file are shown to people and written into artifacts.
void check(const std::string& text, std::string_view field) {
  if (!is_utf8(text)) throw error("a text in the model is no UTF-8 ({}): the file is damaged", field);
}
void check(const RepeatedPtrField<std::string>& texts, std::string_view field) {
  for (const std::string& text : texts) check(text, field);
}

template <class Message>
void settle_domain(Message& m) {
  check(m.domain(), "domain");
  if (m.domain() == "ai.onnx") m.clear_domain();
}

void settle(GraphProto&);

void settle(const TensorProto& t) { check(t.name(), "TensorProto.name"); }

void settle(const SparseTensorProto& t) {
  settle(t.values());
  settle(t.indices());
}

void settle(const TypeProto& type) {
  for (const auto& d : type.tensor_type().shape().dim()) check(d.dim_param(), "TensorShapeProto.dim_param");
  if (type.has_sequence_type()) settle(type.sequence_type().elem_type());
  if (type.has_optional_type()) settle(type.optional_type().elem_type());
  if (type.has_map_type()) settle(type.map_type().value_type());
}

void settle(AttributeProto& a) {
  check(a.name(), "AttributeProto.name");
  check(a.ref_attr_name(), "AttributeProto.ref_attr_name");
  check(a.s(), "AttributeProto.s");
  check(a.strings(), "AttributeProto.strings");
  settle(a.t());
  settle(a.sparse_tensor());
  if (a.has_g()) settle(*a.mutable_g());
}

void settle(NodeProto& n) {
  settle_domain(n);
  check(n.name(), "NodeProto.name");
  check(n.op_type(), "NodeProto.op_type");
  check(n.overload(), "NodeProto.overload");
  check(n.input(), "NodeProto.input");
  check(n.output(), "NodeProto.output");
  for (AttributeProto& a : *n.mutable_attribute()) settle(a);
  for (const StringStringEntryProto& entry : n.metadata_props()) {
    check(entry.key(), "NodeProto.metadata_props");
    check(entry.value(), "NodeProto.metadata_props");
  }
}

void settle(GraphProto& g) {
  check(g.name(), "GraphProto.name");
  for (NodeProto& n : *g.mutable_node()) settle(n);
  for (const TensorProto& t : g.initializer()) settle(t);
  for (const SparseTensorProto& t : g.sparse_initializer()) settle(t);
  for (const auto* values : {&g.input(), &g.output()})
    for (const ValueInfoProto& v : *values) {
      check(v.name(), "ValueInfoProto.name");
      settle(v.type());
    }
}

void settle(FunctionProto& f) {
  settle_domain(f);
  check(f.name(), "FunctionProto.name");
  check(f.overload(), "FunctionProto.overload");
  check(f.input(), "FunctionProto.input");
  check(f.output(), "FunctionProto.output");
  for (NodeProto& n : *f.mutable_node()) settle(n);
  for (AttributeProto& a : *f.mutable_attribute_proto()) settle(a);
  for (OperatorSetIdProto& set : *f.mutable_opset_import()) settle_domain(set);
}

}  // namespace

void decode_model(Bytes bytes, ModelProto& model) {
  parse_without_data(bytes, model);
  settle(*model.mutable_graph());
  for (FunctionProto& f : *model.mutable_functions()) settle(f);
  for (OperatorSetIdProto& set : *model.mutable_opset_import()) settle_domain(set);
}

std::optional<std::int64_t> version_of(const OperatorSets& sets, std::string_view domain) {
  std::optional<std::int64_t> last;
  for (const OperatorSetIdProto& set : sets)
    if (set.domain() == domain) last = set.version();
  return last;
}

}  // namespace tenon::converter::onnx
