// TorchScript files as plain data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "base/error.h"
#include "converter/torchscript/load.h"

namespace tenon::torchscript {
namespace {

Program load_model(const std::string& name) { return load(std::string(TEST_MODELS) + "/" + name); }

template <class T>
const T& attribute(const Instance& object, std::string_view name) {
  const IValue* value = object.find(name);
  if (!value) throw std::runtime_error("no attribute " + std::string(name));
  return std::get<T>(*value);
}

const Instance& module(const Instance& object, std::string_view name) {
  return *attribute<const Instance*>(object, name);
}

std::vector<std::string> kinds(const Function& function) {
  std::vector<std::string> result;
  const std::function<void(const Block&)> walk = [&](const Block& block) {
    for (const Node& node : block.nodes) {
      result.emplace_back(node.kind);
      for (const Block& inner : node.blocks) walk(inner);
    }
  };
  walk(function.body);
  return result;
}

const Node& node(const Function& function, std::string_view kind) {
  for (const Node& n : function.body.nodes) {
    if (n.kind == kind) return n;
  }
  throw std::runtime_error("no node " + std::string(kind));
}

std::vector<float> floats(const Tensor& t) {
  const auto packed = t.packed();
  std::vector<float> values(packed.size() / sizeof(float));
  std::memcpy(values.data(), packed.data(), packed.size());
  return values;
}

TEST(TorchScriptLoad, ReadsModulesAndTheirParameters) {
  const Program p = load_model("traced.pt");
  const Instance& conv = module(*p.root, "conv");
  EXPECT_EQ(conv.type->name, "__torch__.torch.nn.modules.conv.Conv2d");
  EXPECT_TRUE(conv.type->is_module);
  const Tensor& weight = *attribute<const Tensor*>(conv, "weight");
  EXPECT_EQ(weight.dtype, DType::f32);
  EXPECT_EQ(weight.sizes, (std::vector<std::int64_t>{4, 3, 3, 3}));
  EXPECT_EQ(weight.strides, (std::vector<std::int64_t>{27, 9, 3, 1}));
  EXPECT_TRUE(conv.type->attributes[*conv.type->slot("weight")].is_parameter);
  const Class& bn = *module(*p.root, "bn").type;
  EXPECT_TRUE(bn.attributes[*bn.slot("running_mean")].is_buffer);
}

TEST(TorchScriptLoad, TensorsAreRangesOfTheMappedFile) {
  const Program p = load_model("attributes.pt");
  const Tensor& whole = *attribute<const Tensor*>(*p.root, "whole");
  EXPECT_EQ(whole.storage->bytes.size(), 12 * sizeof(float));
  EXPECT_EQ(whole.storage->file_offset % 64, 0u);
  EXPECT_EQ(floats(whole), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(TorchScriptLoad, ViewsShareTheirStorage) {
  const Program p = load_model("attributes.pt");
  const Tensor& whole = *attribute<const Tensor*>(*p.root, "whole");
  const Tensor& column = *attribute<const Tensor*>(*p.root, "column");
  EXPECT_EQ(column.storage, whole.storage);
  EXPECT_EQ(column.offset, 1);
  EXPECT_FALSE(column.is_contiguous());
  EXPECT_EQ(floats(column), (std::vector<float>{1, 5, 9}));
}

TEST(TorchScriptLoad, ASharedParameterIsOneTensor) {
  const Program p = load_model("attributes.pt");
  EXPECT_EQ(attribute<const Tensor*>(module(*p.root, "a"), "weight"),
            attribute<const Tensor*>(module(*p.root, "b"), "weight"));
}

TEST(TorchScriptLoad, KeepsPlainAttributesExactly) {
  const Program p = load_model("attributes.pt");
  EXPECT_EQ(attribute<std::string>(*p.root, "name"), "tenon");
  EXPECT_EQ(attribute<bool>(*p.root, "flag"), true);
  EXPECT_EQ(attribute<None>(*p.root, "nothing"), None{});
  EXPECT_EQ(attribute<std::complex<double>>(*p.root, "c"), std::complex<double>(1, -2));
  EXPECT_EQ(attribute<const Tensor*>(*p.root, "narrow")->dtype, DType::bf16);

  const Dict& table = *attribute<const Dict*>(*p.root, "table");
  ASSERT_EQ(table.items.size(), 3u);
  EXPECT_EQ(table.items[1], (std::pair<IValue, IValue>{std::string("most"), INT64_MAX}));
  EXPECT_EQ(table.items[2], (std::pair<IValue, IValue>{std::string("least"), INT64_MIN}));

  const List& shapes = *attribute<const List*>(*p.root, "shapes");
  const Tuple& first = *std::get<const Tuple*>(shapes.items[0]);
  const Tuple& second = *std::get<const Tuple*>(shapes.items[1]);
  EXPECT_EQ(std::get<double>(first.items[1]), 0.1);
  EXPECT_EQ(std::get<double>(second.items[1]), HUGE_VAL);
}

TEST(TorchScriptLoad, ATraceCarriesItsInputShapes) {
  const Program p = load_model("traced.pt");
  const Function& forward = *p.root->type->method("forward");
  ASSERT_EQ(p.traced_methods, std::vector<std::string>{"forward"});
  const Type& x = *forward.values[forward.body.inputs[1]].type;
  EXPECT_EQ(x.dtype, DType::f32);
  EXPECT_EQ(x.sizes, (std::vector<std::int64_t>{1, 3, 8, 8}));
  EXPECT_EQ(forward.arguments[1].type, &x);
}

TEST(TorchScriptLoad, MethodsAreNotInlined) {
  const Program p = load_model("traced.pt");
  const Function& forward = *p.root->type->method("forward");
  EXPECT_EQ(kinds(forward),
            (std::vector<std::string>{"prim::Constant", "prim::GetAttr", "prim::GetAttr", "prim::CallMethod",
                                      "prim::CallMethod", "aten::relu", "aten::mul"}));
  EXPECT_EQ(node(forward, "prim::CallMethod").name, "forward");
}

TEST(TorchScriptLoad, AScalarInATraceIsAZeroDimConstant) {
  const Program p = load_model("int_times_half.pt");
  const Tensor& half =
      *std::get<const Tensor*>(node(*p.root->type->method("forward"), "prim::Constant").constant);
  EXPECT_EQ(half.dtype, DType::f64);
  EXPECT_TRUE(half.sizes.empty());
  double value = 0;
  std::memcpy(&value, half.data(), sizeof value);
  EXPECT_EQ(value, 0.5);
}

TEST(TorchScriptLoad, OperatorsNameTheirArguments) {
  const Program p = load_model("traced.pt");
  const Node& mul = node(*p.root->type->method("forward"), "aten::mul");
  EXPECT_EQ(mul.schema->key, "aten::mul.Tensor");
  EXPECT_EQ(mul.schema->overload, "Tensor");
  EXPECT_EQ(mul.schema->index_of("other"), 1u);
  EXPECT_FALSE(mul.schema->arguments[0].is_written);
}

TEST(TorchScriptLoad, InPlaceOperatorsAreMarked) {
  const Program p = load_model("in_place.pt");
  const Node& relu = node(*p.root->type->method("forward"), "aten::relu_");
  EXPECT_TRUE(relu.schema->arguments[0].is_written);
}

TEST(TorchScriptLoad, ControlFlowNests) {
  const Program p = load_model("control_flow.pt");
  const Function& forward = *p.root->type->method("forward");
  const Node& loop = node(forward, "prim::Loop");
  ASSERT_EQ(loop.blocks.size(), 1u);
  EXPECT_EQ(loop.blocks[0].inputs.size(), 2u) << "the step and x";
  EXPECT_EQ(node(forward, "prim::If").blocks.size(), 2u);
  EXPECT_EQ(forward.arguments[3].default_value, IValue{None{}});
  EXPECT_EQ(forward.arguments[3].type->kind, Type::Kind::optional);
  EXPECT_EQ(forward.arguments[2].type->kind, Type::Kind::integer);
  EXPECT_NE(p.root->type->method("twice"), nullptr);
}

TEST(TorchScriptLoad, KnowsWhereTheAuthorWroteIt) {
  for (const char* name : {"traced.pt", "training.pt"}) {
    const Program p = load_model(name);
    const Source& source = node(*p.root->type->method("forward"), "aten::relu").source;
    EXPECT_TRUE(source.file.ends_with("make_models.py")) << source.file;
    EXPECT_GT(source.line, 0);
    EXPECT_EQ(source.function, "forward");
  }
}

TEST(TorchScriptLoad, RecordsTrainingModeAndReadsAsEval) {
  const Program p = load_model("training.pt");
  EXPECT_EQ(p.modules_in_training_mode, (std::vector<std::string>{"", "conv", "bn"}));
  EXPECT_TRUE(p.root->saved_in_training_mode);
  EXPECT_EQ(attribute<bool>(module(*p.root, "bn"), "training"), false);
  EXPECT_TRUE(load_model("traced.pt").modules_in_training_mode.empty());
}

TEST(TorchScriptLoad, ListsExtraFiles) {
  EXPECT_EQ(load_model("training.pt").extra_files, std::vector<std::string>{"labels.txt"});
}

TEST(TorchScriptLoad, FunctionsAreHeldOnce) {
  const Program p = load_model("deep.pt");
  std::set<std::string> names;
  for (const Function& function : p.functions) {
    EXPECT_TRUE(names.insert(function.qualified_name).second) << function.qualified_name;
  }
  EXPECT_EQ(p.find_class("__torch__.Deep"), p.root->type);
}

TEST(TorchScriptLoad, StructuredTypesNameTheirParts) {
  const Program p = load_model("structured.pt");
  const Function& forward = *p.root->type->method("forward");
  const Type& result = *forward.returns.at(0);
  ASSERT_EQ(result.kind, Type::Kind::tuple);
  EXPECT_EQ(result.inner[0]->fields, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(result.inner[1]->kind, Type::Kind::list);
  EXPECT_EQ(result.inner[1]->inner[0]->kind, Type::Kind::tensor);
}

TEST(TorchScriptLoad, ReadsSileroVad) {
  const Program p = load_model("silero_vad.pt");
  for (const char* name : {"forward", "audio_forward", "reset_states", "_validate_input"}) {
    EXPECT_NE(p.root->type->method(name), nullptr) << name;
  }
  EXPECT_TRUE(p.traced_methods.empty());
  EXPECT_EQ(attribute<const Tensor*>(*p.root, "_context")->sizes, std::vector<std::int64_t>{0});
  EXPECT_EQ(attribute<std::int64_t>(*p.root, "_last_sr"), 0);
  const auto all = kinds(*p.root->type->method("forward"));
  EXPECT_NE(std::find(all.begin(), all.end(), "prim::SetAttr"), all.end());
  for (const Function& function : p.functions) {
    for (const Node& n : function.body.nodes) EXPECT_FALSE(std::holds_alternative<Unsupported>(n.constant));
  }
}

TEST(TorchScriptLoad, StaysValidWhenMoved) {
  Program p = load_model("traced.pt");
  const Instance* root = p.root;
  const Program moved = std::move(p);
  EXPECT_EQ(moved.root, root);
  EXPECT_EQ(moved.root->type->name, "__torch__.ConvBlock");
}

}  // namespace
}  // namespace tenon::torchscript
