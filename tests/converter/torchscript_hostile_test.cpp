// Damaged, hostile and simply wrong files: each ends in one clean error, and costs tenon little.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "base/error.h"
#include "converter/torchscript/load.h"
#include "tests/sanitized.h"

namespace tenon::torchscript {
namespace {

struct Case {
  const char* file;
  const char* says;  // part of the message or of the hint
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.file; }

std::string load_error(const std::filesystem::path& path) {
  try {
    load(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.where(), path.string());
    EXPECT_EQ(e.message().find("Exception raised from"), std::string::npos) << "a C++ backtrace";
    return e.message() + " | " + e.hint();
  }
  return "loads";
}

std::string test_name(const testing::TestParamInfo<Case>& info) {
  return std::filesystem::path(info.param.file).stem().string() + "_" + std::to_string(info.index);
}

class Hostile : public testing::TestWithParam<Case> {};

TEST_P(Hostile, EndsInACleanError) {
  const std::string said = load_error(std::filesystem::path(TEST_HOSTILE) / GetParam().file);
  EXPECT_NE(said.find(GetParam().says), std::string::npos) << said;
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  if (!sanitized) { EXPECT_LT(used.ru_maxrss, 512 * 1024) << "kilobytes"; }
}

INSTANTIATE_TEST_SUITE_P(
    Files, Hostile,
    testing::Values(
        Case{"cut_10.pt", "table of contents is missing"}, Case{"cut_50.pt", "table of contents is missing"},
        Case{"cut_90.pt", "table of contents is missing"}, Case{"cut_99.pt", "table of contents is missing"},
        Case{"zip_header_only.pt", "table of contents is missing"}, Case{"overlapping.pt", "overlap"},
        Case{"setstate.pt", "__setstate__"}, Case{"setstate_newline.pt", "__setstate__"},
        Case{"setstate_form_feed.pt", "__setstate__"}, Case{"setstate_vertical_tab.pt", "__setstate__"},
        Case{"setstate_return.pt", "__setstate__"}, Case{"setstate_tab.pt", "__setstate__"},
        Case{"setstate_comment.pt", "__setstate__"}, Case{"setstate_upper_py.pt", "__setstate__"},
        Case{"setstate_upper_folder.pt", "__setstate__"},
        Case{"setstate_behind_its_twin.pt", "one name to LibTorch"},
        Case{"deep_upper_py.pt", "nests more than 3000"}, Case{"deep_parens.pt", "nests more than 3000"},
        Case{"deep_calls.pt", "nests more than 3000"}, Case{"deep_lists.pt", "nests more than 3000"},
        Case{"deep_minus.pt", "nests more than 3000"}, Case{"deep_indent.pt", "nests more than 3000"},
        Case{"long_sum.pt", "LibTorch crashed"}, Case{"bad_syntax.pt", "LibTorch: expected"},
        Case{"bad_utf8.pt", "LibTorch: expected"}, Case{"no_such_op.pt", "aten::relo"},
        Case{"recursion.pt", "called recursively"}, Case{"code_bomb.pt", "zip bomb"},
        Case{"pickle_bomb.pt", "zip bomb"}, Case{"pickle_deep_tuples.pt", "nests more than 10000"},
        Case{"pickle_marks.pt", "damaged at byte"}, Case{"pickle_many_memo.pt", "values at a time"},
        Case{"pickle_many_stack.pt", "values at a time"}, Case{"pickle_many_marks.pt", "values at a time"},
        Case{"pickle_large_key.pt", "values at a time"}, Case{"pickle_os_system.pt", "os.system"},
        Case{"pickle_long_string.pt", "ends too early"}, Case{"pickle_empty.pt", "is empty"},
        Case{"pickle_int.pt", "LibTorch: its own check"}, Case{"tensor_too_large.pt", "storage"},
        Case{"tensor_negative.pt", "negative size"},
        Case{"short_storage.pt", "holds 4 bytes, but its tensor claims 64"},
        Case{"empty_storage.pt", "record is empty"},
        Case{"lying_storage.pt", "holds 64 bytes, but its tensor claims 2147483648"},
        Case{"compressed_storage.pt", "is compressed"}, Case{"big_endian.pt", "big-endian"},
        Case{"future_version.pt", "version 9999"}, Case{"no_version.pt", "version"}),
    test_name);

class OtherFormat : public testing::TestWithParam<Case> {};

TEST_P(OtherFormat, IsNamedWithWhatToDo) {
  const std::string said = load_error(std::filesystem::path(TEST_MODELS) / GetParam().file);
  EXPECT_NE(said.find(GetParam().says), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(
    Files, OtherFormat,
    testing::Values(Case{"state_dict.pt",
                         "torch.export.save(torch.export.export(model, inputs), 'model.pt2')"},
                    Case{"state_dict.pt", "weights without a graph"},
                    Case{"pickled_module.pt", "torch.jit.trace"}, Case{"legacy.pt", "before PyTorch 1.6"},
                    Case{"exported.pt2", "a .pt2"}, Case{"array.npy", "NumPy"}, Case{"arrays.npz", ".npz"},
                    Case{"empty.pt", "an empty file"}, Case{"text.pt", "a text file"},
                    Case{"lfs.pt", "git lfs pull"}, Case{"random.pt", "does not know"}),
    test_name);

TEST(TorchScriptLoad, AnUntouchedArchivePackedAgainStillLoads) {
  EXPECT_EQ(load_error(std::filesystem::path(TEST_HOSTILE) / "rezipped.pt"), "loads");
}

TEST(TorchScriptLoad, SaysWhenThereIsNoFile) {
  EXPECT_NE(load_error("/no/such/model.pt").find("there is no such file"), std::string::npos);
  EXPECT_NE(load_error(TEST_MODELS).find("a folder"), std::string::npos);
}

TEST(TorchScriptLoad, GivesUpAfterItsTimeAndMemory) {
  const std::string path = std::string(TEST_MODELS) + "/deep.pt";
  EXPECT_THROW(load(path, {.timeout = std::chrono::seconds(0)}), Error);
  EXPECT_THROW(load(path, {.memory_limit = 1}), Error);
}

TEST(TorchScriptLoad, RunsNothingOfTheModel) {
  EXPECT_EQ(load_error(std::string(TEST_MODELS) + "/endless_forward.pt"), "loads");
}

}  // namespace
}  // namespace tenon::torchscript
