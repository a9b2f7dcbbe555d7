// An artifact gives back what was saved, and a damaged one is refused with what is wrong in it.
#include "runtime/artifact.h"

#include <cstring>
#include <fstream>

#include "base/temporary_path.h"
#include "ir/clone.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/string_tensor.h"
#include "tests/runtime/graphs.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

class ArtifactFile : public ::testing::Test {
 protected:
  TemporaryFolder folder{std::filesystem::temp_directory_path()};
  const std::filesystem::path path = folder.path() / "net.tenon";

  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& content) const { std::ofstream(path, std::ios::binary) << content; }

  Artifact saved() const {
    Artifact artifact;
    const auto graph = graph_of(u_net);
    Golden golden;
    golden.inputs = inputs_of(*graph, {{"N", 1}});
    golden.outputs = evaluate(*graph, golden.inputs);
    artifact.graph = graph;
    artifact.goldens.push_back(std::move(golden));
    artifact.notes = {{"source", "unet.pt"}, {"quote", "a \"b\" \n c"}};
    save_artifact(artifact, path);
    return artifact;
  }

  void expect_refused(std::string_view what) const {
    try {
      load_artifact(path);
      FAIL() << "was not refused: " << what;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(what), std::string::npos) << e.message();
      EXPECT_NE(e.where().find(path.string()), std::string::npos) << e.where();
    }
  }
};

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.type_string(), b.type_string());
  const auto count = static_cast<std::size_t>(a.numel()) * size_of(a.dtype());
  EXPECT_EQ(std::memcmp(a.contiguous().bytes(), b.contiguous().bytes(), count), 0);
}

TEST_F(ArtifactFile, GivesBackGraphWeightsGoldensAndNotes) {
  const Artifact before = saved();
  const Artifact after = load_artifact(path);
  EXPECT_EQ(print(*after.graph), print(*before.graph));
  for (const auto& w : before.graph->weights())
    expect_equal(after.graph->find_weight(w->name())->tensor(), w->tensor());
  ASSERT_EQ(after.goldens.size(), 1u);
  expect_equal(after.goldens[0].inputs[0], before.goldens[0].inputs[0]);
  expect_equal(after.goldens[0].outputs[0], before.goldens[0].outputs[0]);
  EXPECT_EQ(after.notes, before.notes);
}

TEST_F(ArtifactFile, KeepsStrings) {
  const auto graph = parse(R"(graph g(%x: string[N]) {
  @words : string[2,1]
  %1 = equal(%x, @words) : bool[2,N]
  %2 = where(%1, "yes\n", @words) : string[2,N]
  return %2
}
)");
  const Tensor words = string_tensor({2, 1}, std::vector<std::string>{"日本", std::string("a\0b", 3)});
  graph->set_weight_data(graph->weights()[0].get(), words);
  const Tensor x = string_tensor({3}, std::vector<std::string>{"", "日本", "\"c\""});
  Artifact artifact{.graph = std::shared_ptr<const Graph>(clone(*graph))};
  artifact.goldens.push_back({{x}, evaluate(*graph, std::vector{x})});
  save_artifact(artifact, path);
  const Artifact after = load_artifact(path);
  EXPECT_EQ(print(*after.graph), print(*graph));
  expect_equal(after.graph->weights()[0]->tensor(), words);
  expect_equal(after.goldens[0].inputs[0], x);
  expect_equal(Session(after.graph).run(std::vector{x})[0], after.goldens[0].outputs[0]);
  EXPECT_EQ(texts_of(after.goldens[0].outputs[0])[1], "yes\n");
}

TEST_F(ArtifactFile, RunsFromTheMappedFile) {
  saved();
  const Artifact artifact = load_artifact(path);
  Session session(artifact.graph);
  expect_close(session.run(artifact.goldens[0].inputs)[0], artifact.goldens[0].outputs[0]);
}

TEST_F(ArtifactFile, KeepsEveryDtypeAndEmptyTensors) {
  std::vector<NamedTensor> tensors;
  for (const char* dtype : {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "f8e4m3fn",
                            "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"})
    tensors.push_back({dtype, random_tensor(*dtype_from_name(dtype), {3, 5}, 4)});
  tensors.push_back({"empty", Tensor::zeros(DType::f32, {0, 3})});
  tensors.push_back({"strided", random_tensor(DType::f32, {4, 6}, 5).permute(Index{1, 0})});
  write_safetensors(path, tensors, {});
  const Safetensors file = read_safetensors(path);
  for (const auto& [name, tensor] : tensors) expect_equal(file.tensors.at(name), tensor);
  verify_checksums(file);
}

TEST_F(ArtifactFile, LargeTensorsAreAligned) {
  write_safetensors(path,
                    {{"a", Tensor::zeros(DType::f32, {16, 16})}, {"odd", Tensor::zeros(DType::u8, {3})}}, {});
  const Safetensors file = read_safetensors(path);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensors.at("a").bytes()) % 64, 0u);
}

TEST_F(ArtifactFile, EveryCutIsRefused) {
  saved();
  const std::string whole = bytes();
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{100},
                                 whole.size() / 2, whole.size() - 1}) {
    write(whole.substr(0, size));
    EXPECT_THROW(load_artifact(path), Error) << size;
  }
  write(whole + "x");
  expect_refused("bytes of data, its tensors take");
}

TEST_F(ArtifactFile, EveryFlippedByteOfTheHeaderIsRefused) {
  saved();
  const std::string whole = bytes();
  std::uint64_t header = 0;
  std::memcpy(&header, whole.data(), sizeof header);
  for (std::size_t at = 8; at < 8 + header; at += 5) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    write(damaged);
    EXPECT_THROW(load_artifact(path), Error) << at;
  }
}

TEST_F(ArtifactFile, AFlippedByteOfTheDataIsFoundOnDemand) {
  saved();
  std::string damaged = bytes();
  damaged[damaged.size() - 9] = static_cast<char>(damaged[damaged.size() - 9] ^ 1);
  write(damaged);
  expect_refused("do not agree with their checksum");
}

// A file with this header and data, without checksums.
std::string file_of(const std::string& header, std::size_t data) {
  const std::uint64_t length = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text + header + std::string(data, '\0');
}

TEST_F(ArtifactFile, HostileHeadersAreRefused) {
  const struct {
    const char* header;
    std::size_t data;
    const char* message;
  } cases[] = {
      {R"([1])", 0, "not a JSON object"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       8, "names a twice"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})", 8, "lie outside of the 8 bytes"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "lie outside of"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "it has 8 bytes, its shape takes 12"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", 8,
       "larger than any file"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "not a whole number"},
      {R"({"a":{"dtype":"Q9","shape":[2],"data_offsets":[0,8]}})", 8, "Q9 is not a dtype"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
       12, "begins at byte 4 of the data, expected 8"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", 8, "lacks its dtype, shape or data_offsets"},
      {R"({"__metadata__":{"x":3}})", 0, "metadata x is not a string"},
      {R"({"a":[[[[[[1]]]]]]})", 0, "nested too deeply"},
      {R"({"a":)", 0, "not JSON"},
      {R"({"__metadata__":{"format":"pt"}})", 0, "no model that tenon wrote"},
      {R"({"__metadata__":{"format":"tenon","version":"99"}})", 0, "it has version 99"},
      {R"({"__metadata__":{"format":"tenon","version":"1","graph":"graph g() {"}})", 0,
       "lack 'header_checksum'"},
  };
  for (const auto& c : cases) {
    write(file_of(c.header, c.data));
    expect_refused(c.message);
  }
  write(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{", 9));
  expect_refused("its header should take");
}

TEST_F(ArtifactFile, AMissingFileAndAFolderAreErrors) {
  EXPECT_THROW(load_artifact(path), Error);
  EXPECT_THROW(load_artifact(::testing::TempDir()), Error);
}

}  // namespace
}  // namespace tenon::testing
