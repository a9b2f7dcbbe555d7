// TorchScript programs written by make_programs.py convert, and compute what PyTorch computed.
#include "converter/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "converter/torchscript/load.h"
#include "ir/evaluate.h"
#include "ir/npy.h"

namespace tenon {
namespace {

const std::filesystem::path programs = TEST_PROGRAMS;

ConvertOptions options_of(const std::string& name) {
  ConvertOptions options;
  std::ifstream file(programs / name / "inputs.txt");
  std::string spec;
  while (file >> spec) {
    const std::size_t equals = spec.find('=');
    options.inputs.push_back({spec.substr(0, equals), Type::parse(spec.substr(equals + 1))});
  }
  return options;
}

std::unique_ptr<Graph> convert(const std::string& name, ConvertNotes* notes = nullptr) {
  ConvertOptions options = options_of(name);
  options.notes = notes;
  return convert_torchscript(torchscript::load(programs / name / "model.pt"), options);
}

std::vector<Tensor> load_all(const std::filesystem::path& folder, const std::string& prefix) {
  std::vector<Tensor> out;
  for (int i = 0; std::filesystem::exists(folder / (prefix + std::to_string(i) + ".npy")); ++i)
    out.push_back(load_npy(folder / (prefix + std::to_string(i) + ".npy")));
  return out;
}

void expect_close(const Tensor& got, const Tensor& want, const std::string& what) {
  EXPECT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  for_each_index(want.shape(), [&](std::span<const std::int64_t> i) {
    const double x = got.get_double(i);
    const double y = want.get_double(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) return;
    EXPECT_LE(std::abs(x - y), 1e-5 + 1e-5 * std::abs(y)) << what;
  });
}

class Program : public testing::TestWithParam<std::string> {};

TEST_P(Program, ComputesWhatPyTorchComputes) {
  const auto graph = convert(GetParam());
  int sets = 0;
  for (; std::filesystem::exists(programs / GetParam() / std::to_string(sets)); ++sets) {
    const std::filesystem::path folder = programs / GetParam() / std::to_string(sets);
    const auto got = evaluate(*graph, load_all(folder, "in_"));
    const auto want = load_all(folder, "out_");
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_close(got[i], want[i], folder.string() + " output " + std::to_string(i));
  }
  EXPECT_GT(sets, 0);
}

// All that make_programs.py wrote, but those that are refused or keep a state.
std::vector<std::string> stateless_programs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(programs)) {
    const std::string name = entry.path().filename().string();
    if (name != "refused" && name != "WritesBuffer") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Convert, Program, testing::ValuesIn(stateless_programs()),
                         [](const auto& test) { return test.param; });

TEST(Convert, NamesWeightsByAttributePathAndSharesThem) {
  const auto graph = convert("SharedWeight");
  EXPECT_NE(graph->find_weight("first.weight"), nullptr);
  EXPECT_NE(graph->find_weight("second.bias"), nullptr);
  EXPECT_EQ(graph->find_weight("second.weight"), nullptr) << "the shared weight stands twice";
}

TEST(Convert, NodesKeepModulePathAndLine) {
  const auto graph = convert("Modules");
  bool found = false;
  for (const auto& node : graph->body().nodes()) {
    if (node->op().name() != "linear") continue;
    found |= node->source.modules == std::vector<std::string>{"gates.1.linear"} && node->source.line > 0;
  }
  EXPECT_TRUE(found);
}

TEST(Convert, OutputsAreNamedByTheirPath) {
  EXPECT_EQ(convert("PositionTable")->output_names, (std::vector<std::string>{"out"}));
  EXPECT_EQ(convert("Lists")->output_names,
            (std::vector<std::string>{"out.0", "out.1.a", "out.1.b", "out.1.c", "out.2.0", "out.2.1"}));
}

TEST(Convert, ATableBoundsTheSizeThatIndexesIt) {
  ConvertNotes notes;
  const auto graph = convert("PositionTable", &notes);
  EXPECT_EQ(graph->symbols.at("S").max, 6);
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes.back().kind, ConvertNote::Kind::assumption);
  EXPECT_NE(notes.back().text.find("S is at most 6"), std::string::npos) << notes.back().text;
  EXPECT_THROW(evaluate(*graph, std::vector{Tensor::zeros(DType::i64, {1, 7})}), Error);
}

TEST(Convert, AsksForTheTypesOfAllInputsAtOnce) {
  try {
    convert_torchscript(torchscript::load(programs / "Modules" / "model.pt"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Exit::bad_input);
    EXPECT_NE(e.hint().find("--input 'x=f32[N,16]'"), std::string::npos) << e.hint();
  }
}

TEST(Convert, SaysWhichInputsThereAre) {
  ConvertOptions options;
  options.inputs.push_back({"y", Type::parse("f32[2]")});
  try {
    convert_torchscript(torchscript::load(programs / "PositionTable" / "model.pt"), options);
    FAIL();
  } catch (const Error& e) { EXPECT_NE(e.message().find("no input 'y'"), std::string::npos) << e.message(); }
}

UnsupportedReport refusal(const std::string& name, const char* input) {
  ConvertOptions options;
  UnsupportedReport report;
  options.report = &report;
  if (input) options.inputs.push_back({"", Type::parse(input)});
  try {
    convert_torchscript(torchscript::load(programs / "refused" / (name + ".pt")), options);
    ADD_FAILURE() << name << " was converted";
  } catch (const Error& e) { EXPECT_EQ(e.code(), Exit::unsupported) << e.message(); }
  return report;
}

TEST(ConvertRefuses, EverythingUnsupportedInOneReport) {
  const UnsupportedReport report = refusal("several_unsupported", nullptr);
  ASSERT_EQ(report.uses.size(), 3u);
  EXPECT_EQ(report.uses[0].what, "aten::to_sparse");
  EXPECT_EQ(report.uses[1].what, "aten::to_dense");
  EXPECT_EQ(report.uses[2].what, "random numbers");
  EXPECT_EQ(report.uses[2].count, 2);
  EXPECT_EQ(report.uses[2].places.size(), 2u);
  EXPECT_NE(report.uses[2].places[0].find("programs_of_code.py:"), std::string::npos);
  EXPECT_NE(report.uses[2].hint.find("--random"), std::string::npos);
}

TEST(Convert, AnIfOnTensorDataIsANode) {
  const auto graph = convert("if_on_data");
  const auto& nodes = graph->body().nodes();
  EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return n->op().name() == "if"; }));
}

TEST(Convert, AWriteThatOutlivesTheCallIsAState) {
  const auto graph = convert("WritesBuffer");
  EXPECT_EQ(graph->body().parameter(1)->name(), "state.total");
  EXPECT_EQ(graph->output_names, (std::vector<std::string>{"out", "state.total", "state.started"}));
}

TEST(ConvertRefuses, ReadingWhatAWriteMayHaveChanged) {
  const UnsupportedReport report = refusal("may_share_memory", nullptr);
  ASSERT_FALSE(report.empty());
  EXPECT_NE(report.uses[0].reason.find("may or may not share"), std::string::npos) << report.uses[0].reason;
}

TEST(ConvertRefuses, AResultThatIsNotComputed) {
  const UnsupportedReport report = refusal("sizes_of_bags", nullptr);
  ASSERT_EQ(report.uses.size(), 1u);
  EXPECT_EQ(report.uses[0].what, "output");
}

TEST(ConvertRefuses, DropoutInTrainingMode) {
  const UnsupportedReport report = refusal("training_dropout", nullptr);
  ASSERT_EQ(report.uses.size(), 1u);
  EXPECT_NE(report.uses[0].hint.find("eval()"), std::string::npos);
}

}  // namespace
}  // namespace tenon
