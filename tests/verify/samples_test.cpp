// Stored samples: which files make one, and what is wrong with a folder.
#include "verify/samples.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/temporary_path.h"
#include "ir/npy.h"
#include "ir/parse.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class Samples : public testing::Test {
 protected:
  void npy(const std::string& name, double value) const {
    save_npy(folder / name, Tensor::scalar(DType::f32, value));
  }
  // An f32 scalar: data_type, name, raw_data.
  void proto(const std::string& set, const std::string& file, const std::string& name, float value) const {
    fs::create_directories(folder / set);
    std::string bytes = "\x10\x01\x42" + std::string(1, static_cast<char>(name.size())) + name + "\x4a\x04";
    bytes.append(reinterpret_cast<const char*>(&value), 4);
    std::ofstream(folder / set / file, std::ios::binary) << bytes;
  }
  std::string message() const {
    try {
      whole_samples(folder, *graph);
    } catch (const Error& e) { return e.message(); }
    return "nothing is wrong";
  }

  TemporaryFolder scratch{fs::temp_directory_path()};
  fs::path folder = scratch.path();
  std::unique_ptr<Graph> graph = parse("graph g(%x: f32[], %y: f32[]) {\n  return %x as \"sum\"\n}\n");
};

TEST_F(Samples, ComeFromNpyFilesInOrder) {
  npy("in_0.npy", 1), npy("in_1.npy", 2), npy("out_0.npy", 3);
  const auto samples = whole_samples(folder, *graph);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].inputs[1].get_double(), 2);
  EXPECT_EQ(samples[0].expected[0].get_double(), 3);
}

TEST_F(Samples, ComeFromEachTestDataSetByName) {
  for (const char* set : {"test_data_set_0", "test_data_set_1"}) {
    proto(set, "input_0.pb", "y", 1), proto(set, "input_1.pb", "x", 2), proto(set, "output_0.pb", "sum", 3);
  }
  const auto samples = whole_samples(folder, *graph);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[1].name, "test_data_set_1");
  EXPECT_EQ(samples[1].inputs[0].get_double(), 2) << "x";
}

TEST_F(Samples, PassOverWhatIsNeitherInputNorOutputByItsName) {
  npy("in_0.npy", 1), npy("y.npy", 2), npy("sum.npy", 3);
  npy("tenon_out.npy", 4);
  std::ofstream(folder / "damaged.npy") << "no array";
  save_npz(folder / "all.npz", std::vector<std::pair<std::string, Tensor>>{});
  const auto samples = whole_samples(folder, *graph);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].inputs[1].get_double(), 2);
  EXPECT_EQ(samples[0].expected[0].get_double(), 3);
  ASSERT_EQ(samples[0].notes.size(), 3u);
  EXPECT_EQ(samples[0].notes[1],
            "tenon_out.npy is passed over: no input or output of the model is called so");
  std::ofstream(folder / "sum.npy") << "no array";
  EXPECT_EQ(message(), "this is not a .npy file");
}

TEST_F(Samples, SayWhatIsMissing) {
  EXPECT_EQ(message(), "the folder holds no sample");
  npy("in_0.npy", 1);
  EXPECT_EQ(message(), "there is no value for input y: f32[]");
  npy("in_1.npy", 2);
  EXPECT_EQ(message(), "there is no value for output sum");
  npy("in_2.npy", 2);
  EXPECT_EQ(message(), "the model has no input number 2");
  folder /= "nowhere";
  EXPECT_EQ(message(), "there is no such folder");
}

}  // namespace
}  // namespace tenon
