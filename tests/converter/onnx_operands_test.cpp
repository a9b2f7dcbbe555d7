// Nodes of ONNX with operands, attributes or results that their operator does not have: one clear error each.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "converter/onnx/convert.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/table.h"

namespace tenon::converter::onnx {
namespace {

AttributeProto integer(const std::string& name, std::int64_t i) {
  AttributeProto a;
  a.set_name(name), a.set_type(2), a.set_i(i);
  return a;
}
AttributeProto integers(const std::string& name, const std::vector<std::int64_t>& ints) {
  AttributeProto a;
  a.set_name(name), a.set_type(7), a.mutable_ints()->Add(ints.begin(), ints.end());
  return a;
}

ValueInfoProto float_input(const std::string& name, const std::vector<std::int64_t>& shape) {
  ValueInfoProto v;
  v.set_name(name);
  auto& tensor = *v.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(1);
  auto& dims = *tensor.mutable_shape();
  for (const std::int64_t size : shape) dims.add_dim()->set_dim_value(size);
  return v;
}

NodeProto node(const std::string& full_name, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs) {
  NodeProto n;
  const std::size_t dot = full_name.rfind('.');
  n.set_domain(dot == std::string::npos ? "" : full_name.substr(0, dot));
  n.set_op_type(full_name.substr(dot == std::string::npos ? 0 : dot + 1));
  for (const std::string& name : inputs) n.add_input(name);
  for (const std::string& name : outputs) n.add_output(name);
  return n;
}

/// Inputs x0, x1, ... of the kind; nodes that make them come first.
struct Kind {
  const char* name;
  std::function<void(GraphProto&, const std::string& input)> add;
};

void add_floats(GraphProto& g, const std::string& name, const std::vector<std::int64_t>& shape) {
  *g.add_input() = float_input(name, shape);
}
void add_integers(GraphProto& g, const std::string& name, const std::vector<std::int64_t>& values) {
  NodeProto& constant = *g.add_node() = node("Constant", {}, {name});
  *constant.add_attribute() = integers("value_ints", values);
}

const Kind kinds[] = {
    {"f32[2,4,6,6]",
     [](auto& g, auto& name) {
       add_floats(g, name, {2, 4, 6, 6});
     }},
    {"f32[3,4]",
     [](auto& g, auto& name) {
       add_floats(g, name, {3, 4});
     }},
    {"f32[4]", [](auto& g, auto& name) { add_floats(g, name, {4}); }},
    {"f32[]", [](auto& g, auto& name) { add_floats(g, name, {}); }},
    {"f32[0,3]",
     [](auto& g, auto& name) {
       add_floats(g, name, {0, 3});
     }},
    {"i64 1", [](auto& g, auto& name) { add_integers(g, name, {1}); }},
    {"i64 -5 7",
     [](auto& g, auto& name) {
       add_integers(g, name, {-5, 7});
     }},
    {"i64 none", [](auto& g, auto& name) { add_integers(g, name, {}); }},
    {"f32[2,4,6,6], then i64 -1 0 2 9",
     [](auto& g, auto& name) {
       if (name == "x0") return add_floats(g, name, {2, 4, 6, 6});
       add_integers(g, name, {-1, 0, 2, 9});
     }},
    {"sequences",
     [](auto& g, auto& name) {
       add_floats(g, name + "_item", {2, 3});
       *g.add_node() = node("SequenceConstruct", {name + "_item"}, {name});
     }},
};

/// Of all operators together: each reads those that it knows.
std::vector<AttributeProto> attributes(const std::string& kind) {
  std::vector<AttributeProto> all;
  const auto add_all = [&](const char* names, const auto& make) {
    std::istringstream words(names);
    for (std::string name; words >> name;) all.push_back(make(name));
  };
  constexpr const char* numbers =
      "axis num_heads kv_num_heads q_num_heads hidden_size group groups offset_group blocksize block_size K "
      "N "
      "bits k size keepdims to dtype n_targets batch_dims output_height output_width num_scan_inputs p "
      "rotary_embedding_dim n_supports sample_size max_gram_length min_gram_length signal_ndim num_groups";
  constexpr const char* lists =
      "axes kernel_shape pads strides dilations perm split shape starts ends output_shape output_padding "
      "pooled_shape scale border ngram_counts ngram_indexes pool_int64s classlabels_int64s "
      "nodes_falsenodeids nodes_truenodeids nodes_featureids nodes_nodeids nodes_treeids tree_roots "
      "nodes_trueleafs nodes_falseleafs leaf_targetids vectors_per_class inputdimensions qkv_hidden_sizes";
  if (kind == "empty") add_all(lists, [](auto& name) { return integers(name, {}); });
  if (kind == "small") {
    add_all(numbers, [](auto& name) { return integer(name, 2); });
    add_all(lists, [](auto& name) { return integers(name, {1, 2}); });
  }
  if (kind == "negative") {
    add_all(numbers, [](auto& name) { return integer(name, -3); });
    add_all(lists, [](auto& name) { return integers(name, {-3}); });
  }
  return all;
}

Model model(const std::string& name, std::size_t inputs, const Kind& kind, std::size_t outputs) {
  Model m;
  m.path = "model.onnx";
  for (const auto& [domain, version] : {std::pair{"", 21}, {"com.microsoft", 1}, {"ai.onnx.ml", 5}}) {
    auto& set = *m.proto->add_opset_import();
    set.set_domain(domain), set.set_version(version);
  }
  GraphProto& graph = *m.proto->mutable_graph();
  std::vector<std::string> in, out;
  for (std::size_t i = 0; i < inputs; ++i) kind.add(graph, in.emplace_back(fmt::format("x{}", i)));
  for (std::size_t i = 0; i < outputs; ++i) out.push_back(fmt::format("y{}", i));
  *graph.add_node() = node(name, in, out);
  for (const std::string& y : out) graph.add_output()->set_name(y);
  return m;
}

/// The sentence that the user reads; empty when the model converts.
std::string refusal(const Model& m) {
  try {
    convert(m);
  } catch (const Error& e) { return e.message().empty() ? "(nothing)" : e.message(); }
  return "";
}

TEST(OnnxOperands, AMissingOneIsNamed) {
  const std::vector<std::pair<std::size_t, const char*>> rows = {
      {1,
       "Abs Softmax Relu Clip Concat ConstantOfShape Flatten Max Mean Min Neg Not "
       "ReduceSum ReduceProd Resize Shape Size Split Squeeze Sum Transpose Gelu Dropout"},
      {2,
       "Add And BitShift CastLike Compress Conv ConvTranspose CumSum Div Equal Expand Gather GatherElements "
       "GatherND Gemm Greater GridSample Less MatMul Mod Mul Or PRelu Pad Pow Reshape "
       "Sub Tile TopK Unsqueeze Xor QuantizeLinear DequantizeLinear ReverseSequence"},
      {3,
       "Where Slice ScatterElements ScatterND GroupNormalization "
       "InstanceNormalization"},
      {5, "BatchNormalization"},
      {8, "QLinearMatMul"},
  };
  for (const auto& [needed, names] : rows) {
    std::istringstream words(names);
    for (std::string name; words >> name;)
      for (std::size_t given = 0; given < needed; ++given) {
        const std::string said = refusal(model(name, given, kinds[0], 1));
        const bool names_one = said.starts_with("its input ") && said.ends_with(" is missing");
        EXPECT_TRUE(names_one && said[10] >= static_cast<char>('0' + given))
            << name << " of " << given << ": " << said;
      }
  }
}

TEST(OnnxOperands, OnesThatDoNotFitAreTheUsersMistakeNotOurs) {
  std::set<std::pair<std::string_view, std::string>> said;  // each once
  for (const std::string_view name : implemented_operators())
    for (const char* attribute_kind : {"none", "empty", "small", "negative"})
      for (const Kind& kind : kinds)
        for (std::size_t inputs = 0; inputs < 9; ++inputs)
          for (const std::size_t outputs : {0U, 1U, 3U}) {
            if (outputs != 1 && inputs > 3) continue;
            const Model m = model(std::string(name), inputs, kind, outputs);
            for (const AttributeProto& a : attributes(attribute_kind))
              *m.proto->mutable_graph()->mutable_node()->rbegin()->add_attribute() = a;
            try {
              convert(m);
            } catch (const Error&) {
            } catch (const std::exception& e) {
              if (said.emplace(name, e.what()).second)
                ADD_FAILURE() << name << " of " << inputs << " x " << kind.name << " with " << attribute_kind
                              << " attributes and " << outputs << " results: " << e.what();
            }
          }
}

TEST(OnnxOperands, AResultThatTheOperatorDoesNotHaveIsNamedWhereItIsRead) {
  const Model m = model("Relu", 1, kinds[1], 2);
  GraphProto& graph = *m.proto->mutable_graph();
  NodeProto& reader = *graph.add_node() = node("Clip", {"y0", "y1"}, {"z"});
  graph.clear_output();
  graph.add_output()->set_name("z");
  EXPECT_EQ(refusal(m), "it reads 'y1', which nothing before it gives");
  reader.mutable_input()->RemoveLast();
  EXPECT_EQ(refusal(m), "");
}

TEST(OnnxOperands, BoundsOfASliceAreOfOneLength) {
  const Model m = model("Slice", 1, kinds[1], 1);
  GraphProto& graph = *m.proto->mutable_graph();
  add_integers(graph, "starts", {0, 0});
  add_integers(graph, "ends", {1});
  graph.mutable_node()->SwapElements(0, 2);
  for (const char* name : {"starts", "ends"}) graph.mutable_node(2)->add_input(name);
  EXPECT_EQ(refusal(m), "its starts, ends, axes and steps have 2, 1, 2 and 2 elements");
}

}  // namespace
}  // namespace tenon::converter::onnx
