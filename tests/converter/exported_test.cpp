// Exported programs: archives written here, as torch.export.save writes them, and what may be wrong with
// them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/temporary_path.h"
#include "base/zip.h"
#include "converter/exported/load.h"
#include "converter/exported/pytree.h"
#include "converter/exported/schemas.h"
#include "converter/exported/size_text.h"

namespace tenon {
namespace {

namespace ts = torchscript;
using nlohmann::json;

/// An archive of y = x + w with x f32[s0,2] and w f32[2].
struct Files {
  // clang-format off: it takes JSON for C++.
  json program = json::parse(R"json({
    "schema_version": {"major": 8, "minor": 20}, "torch_version": "2.13.0",
    "opset_version": {"aten": 10}, "verifiers": ["TRAINING"],
    "range_constraints": {"s0": {"min_val": 2, "max_val": 64}},
    "graph_module": {
      "graph": {
        "inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
        "outputs": [{"as_tensor": {"name": "add"}}],
        "nodes": [{"target": "torch.ops.aten.add.Tensor", "name": "add",
                   "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
                              {"name": "other", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1}],
                   "outputs": [{"as_tensor": {"name": "add"}}],
                   "metadata": {"stack_trace": "File \"/home/me/net.py\", line 12, in forward\n    return x + self.w",
                                "nn_module_stack": "L__self__,,net.Net;L__self___block,block@1,net.Block"}}],
        "tensor_values": {
          "p_w": {"dtype": 7, "sizes": [{"as_int": 2}]},
          "x": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)"}}, {"as_int": 2}]},
          "add": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)"}}, {"as_int": 2}]}}
      },
      "signature": {
        "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "block.w"}},
                        {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
        "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "add"}}}}]},
      "module_call_graph": [{"fqn": "", "signature": {
        "in_spec": "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": null, \"context\": null, \"children_spec\": []}]}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",
        "out_spec": "[1, {\"type\": null, \"context\": null, \"children_spec\": []}]",
        "forward_arg_names": ["x"]}}]
    }
  })json");
  // clang-format on
  json weights = json::parse(R"({"config": {"block.w": {
    "path_name": "weight_0", "is_param": true, "use_pickle": false,
    "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}],
                    "storage_offset": {"as_int": 0}, "layout": 7}}}})");
  std::string byteorder = "little";
  std::map<std::string, std::string> more = {{"data/weights/weight_0", std::string(8, '\0')}};

  json& node() { return program["graph_module"]["graph"]["nodes"][0]; }
  json& weight() { return weights["config"]["block.w"]; }

  ts::Program load() const {
    TemporaryFolder folder(std::filesystem::temp_directory_path());
    const auto path = folder.file("net.pt2");
    AtomicFile file(path);
    ZipWriter zip(file);
    const auto add = [&](const std::string& name, const std::string& content) {
      const std::array parts = {std::as_bytes(std::span(content))};
      zip.add("net/" + name, parts);
    };
    add("models/model.json", program.dump());
    add("data/weights/model_weights_config.json", weights.dump());
    add("byteorder", byteorder);
    for (const auto& [name, content] : more) add(name, content);
    zip.finish();
    file.commit();
    return exported::load(path);
  }
};

const ts::Node& last_call(const ts::Program& p) {
  const ts::Node* found = nullptr;
  for (const ts::Node& node : p.root->type->method("forward")->body.nodes)
    if (node.schema) found = &node;
  return *found;
}

TEST(Exported, IsAModuleWithOneMethod) {
  const ts::Program p = Files().load();
  const ts::Function& forward = *p.root->type->method("forward");
  ASSERT_EQ(forward.arguments.size(), 2u);
  EXPECT_EQ(forward.arguments[1].name, "x");
  EXPECT_EQ(forward.arguments[1].type->dtype, DType::f32);
  EXPECT_EQ(*forward.arguments[1].type->declared_sizes, (std::vector<std::string>{"s0", "2"}));
  EXPECT_EQ(p.root->type->attributes[0].name, "block.w");
  EXPECT_EQ(last_call(p).schema->key, "aten::add.Tensor");
}

TEST(Exported, ArgumentsThatTheFileLeavesOutHaveTheirDefaults) {
  const ts::Program p = Files().load();
  const ts::Node& add = last_call(p);
  ASSERT_EQ(add.inputs.size(), 3u);  // self, other, alpha
  for (const ts::Node& node : p.root->type->method("forward")->body.nodes)
    if (node.outputs == std::vector{add.inputs[2]}) { EXPECT_EQ(std::get<std::int64_t>(node.constant), 1); }
}

TEST(Exported, NodesSayWhereTheyComeFrom) {
  const ts::Program p = Files().load();
  EXPECT_EQ(last_call(p).source.file, "/home/me/net.py");
  EXPECT_EQ(last_call(p).source.line, 12);
  EXPECT_EQ(last_call(p).source.module, "block");
}

TEST(Exported, ARangeThatBeginsAtTwoAllowsNoneAndOneAsInPyTorch) {
  const ts::Program p = Files().load();
  EXPECT_EQ(p.symbols.at("s0").min, 0);
  EXPECT_EQ(p.symbols.at("s0").max, 64);
}

TEST(Exported, TiedWeightsAreOneTensor) {
  Files files;
  files.weights["config"]["tied"] = files.weight();
  json& specs = files.program["graph_module"]["signature"]["input_specs"];
  specs.push_back(specs[0]);
  specs[2]["parameter"] = {{"arg", {{"name", "p_tied"}}}, {"parameter_name", "tied"}};
  const ts::Program p = files.load();
  EXPECT_EQ(std::get<const ts::Tensor*>(p.root->values.at(0)),
            std::get<const ts::Tensor*>(p.root->values.at(1)));
}

TEST(Exported, WhatHasNoFormIsAnErrorOnlyWhenItIsReached) {
  Files files;
  files.node()["target"] = "torch.ops.mylib.twice.default";
  const ts::Program p = files.load();
  const ts::Node& node = p.root->type->method("forward")->body.nodes.back();
  EXPECT_EQ(node.kind, "mylib::twice");
  EXPECT_EQ(std::get<ts::Unsupported>(node.constant).what, "a custom operator");
}

struct Damage {
  std::string name, message;
  std::function<void(Files&)> apply;
};

class Damaged : public testing::TestWithParam<Damage> {};

TEST_P(Damaged, IsOneError) {
  Files files;
  GetParam().apply(files);
  try {
    files.load();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find(GetParam().message), std::string::npos) << e.message();
    EXPECT_NE(e.where().find("net.pt2"), std::string::npos);
  }
}

json nested_tree(int depth) {
  json leaf = {{"type", nullptr}, {"context", nullptr}, {"children_spec", json::array()}};
  for (int i = 0; i < depth; ++i)
    leaf = {{"type", "builtins.list"}, {"context", "null"}, {"children_spec", json::array({leaf})}};
  return json::array({1, leaf});
}

std::string nested_size(int depth) {
  std::string text = "Integer(1)";
  for (int i = 0; i < depth; ++i) text = "Add(" + text + ", Integer(1))";
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Exported, Damaged,
    testing::Values(
        Damage{"OtherMajorVersion", "version 9.1",
               [](Files& f) {
                 f.program["schema_version"] = {{"major", 9}, {"minor", 1}};
               }},
        Damage{"BigEndian", "big-endian", [](Files& f) { f.byteorder = "big"; }},
        Damage{"SeveralModels", "holds 2 models: model, other",
               [](Files& f) { f.more["models/other.json"] = "{}"; }},
        Damage{"PickledWeights", "PyTorch 2.8", [](Files& f) { f.more["data/weights/model.pt"] = "x"; }},
        Damage{"NoJson", "does not hold together", [](Files& f) { f.program = "text"; }},
        Damage{"MissingBytes", "the data of a weight are missing: block.w", [](Files& f) { f.more.clear(); }},
        Damage{"MissingTensor", "the data of a weight are missing: block.w",
               [](Files& f) { f.weights["config"].clear(); }},
        Damage{"ShortBytes", "reaches outside",
               [](Files& f) { f.more["data/weights/weight_0"] = std::string(4, '\0'); }},
        Damage{"HugeOffset", "absurd",
               [](Files& f) {
                 f.weight()["tensor_meta"]["strides"][0] = {{"as_int", std::int64_t{1} << 62}};
                 f.weight()["tensor_meta"]["sizes"][0] = {{"as_int", std::int64_t{1} << 40}};
               }},
        Damage{"NegativeSize", "absurd",
               [](Files& f) {
                 f.weight()["tensor_meta"]["sizes"][0] = {{"as_int", -1}};
               }},
        Damage{"UndefinedName", "q is used before it is made",
               [](Files& f) { f.node()["inputs"][1]["arg"]["as_tensor"]["name"] = "q"; }},
        Damage{"UsesItself", "add is used before it is made",
               [](Files& f) { f.node()["inputs"][1]["arg"]["as_tensor"]["name"] = "add"; }},
        Damage{"NameTwice", "two values are called x",
               [](Files& f) { f.node()["outputs"][0]["as_tensor"]["name"] = "x"; }},
        Damage{"MissingArgument", "lacks its argument other", [](Files& f) { f.node()["inputs"].erase(1); }},
        Damage{
            "DeepSize", "it nests too deep",
            [](Files& f) {
              f.program["graph_module"]["graph"]["tensor_values"]["add"]["sizes"][0]["as_expr"]["expr_str"] =
                  nested_size(1000);
            }},
        Damage{"DeepTree", "nested more than 200 deep",
               [](Files& f) {
                 f.program["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] =
                     nested_tree(1000).dump();
               }},
        Damage{"OtherOutputs", "more outputs",
               [](Files& f) {
                 f.program["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] =
                     R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": []}])";
               }},
        Damage{"EmptyRange", "the range of the size s0 is empty",
               [](Files& f) {
                 f.program["range_constraints"]["s0"] = {{"min_val", 9}, {"max_val", 3}};
               }}),
    [](const auto& damage) { return damage.param.name; });

TEST(SizeText, IsReadFromSymPysForm) {
  const std::map<std::string, std::string> sizes = {
      {"Integer(8)", "8"},
      {"Symbol('s0', positive=True, integer=True)", "s0"},
      {"Mul(Integer(2), Symbol('s0', positive=True, integer=True))", "(2)*(s0)"},
      {"Add(Integer(-1), Symbol('s0', integer=True))", "((-1))+(s0)"},
      {"FloorDiv(Symbol('s0'), Integer(2))", "(s0)//(2)"},
      {"Max(Integer(1), Symbol('s0'), Symbol('s1'))", "max(max(1,s0),s1)"},
      {"Pow(Symbol('s0'), Integer(2))", "(s0)*(s0)"}};
  for (const auto& [srepr, text] : sizes) EXPECT_EQ(exported::size_text(srepr), text) << srepr;
}

TEST(SizeText, HasNoFormForFractions) {
  EXPECT_EQ(exported::size_text("Mul(Rational(1, 2), Symbol('s0'))"), std::nullopt);
  EXPECT_EQ(exported::size_text("ToFloat(Symbol('s0'))").value_or(""), "");
  EXPECT_EQ(exported::size_text("Float('0.5', precision=53)"), std::nullopt);
}

TEST(SizeText, IsAnErrorWhenItCannotBeRead) {
  for (const char* text : {"", "s0", "Add(", "Add(Integer(1)", "Symbol('a b')", "Symbol('')", "Integer(x)",
                           "Integer(99999999999999999999)", "Integer(1))", "Add(Integer(1) Integer(2))"})
    EXPECT_THROW(exported::size_text(text), Error) << text;
}

TEST(Tree, NamesTheItemsOfDictsAndNamedTuples) {
  const exported::Tree dict = exported::read_tree(
      R"([1, {"type": "builtins.dict", "context": "[\"b\", 3]", "children_spec": [
        {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}]}])",
      {});
  EXPECT_EQ(dict.names, (std::vector<std::string>{"b", "3"}));
  const exported::Tree tuple = exported::read_tree(
      R"([1, {"type": "collections.namedtuple", "context": "net.Pair", "children_spec": [
        {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}]}])",
      {{"net.Pair", {"left", "right"}}});
  EXPECT_EQ(tuple.names, (std::vector<std::string>{"left", "right"}));
}

TEST(Schemas, HaveDefaultsAsTorchScriptHasThem) {
  ts::Program p;
  exported::Schemas schemas(p);
  const ts::Schema& conv = *schemas.find("aten::conv2d");
  const auto& stride =
      *std::get<const ts::List*>(*conv.arguments[conv.index_of("stride").value()].default_value);
  EXPECT_EQ(stride.items.size(), 2u);
  const ts::Schema& pool = *schemas.find("aten::max_pool2d");
  const auto& pad =
      *std::get<const ts::List*>(*pool.arguments[pool.index_of("padding").value()].default_value);
  EXPECT_EQ(pad.items, (std::vector<ts::IValue>{std::int64_t{0}, std::int64_t{0}}));
  const ts::Schema& norm = *schemas.find("aten::layer_norm");
  EXPECT_EQ(std::get<double>(*norm.arguments[norm.index_of("eps").value()].default_value), 1e-5);
  EXPECT_TRUE(schemas.find("aten::add_.Tensor")->arguments[0].is_written);
  EXPECT_FALSE(schemas.find("aten::add.Tensor")->arguments[0].is_written);
  EXPECT_EQ(schemas.find("aten::no_such_operator"), nullptr);
}

TEST(Schemas, AllCanBeRead) {
  ts::Program p;
  exported::Schemas schemas(p);
  std::string_view rest = exported::schemas_txt;
  while (!rest.empty()) {
    const std::string key(rest.substr(0, rest.find('(')));
    EXPECT_NE(schemas.find(key), nullptr) << key;
    rest.remove_prefix(rest.find('\n') + 1);
  }
}

}  // namespace
}  // namespace tenon
