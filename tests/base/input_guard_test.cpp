// What a run reads, it does not overwrite: whatever the two names are.
#include "base/input_guard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/mapped_file.h"
#include "base/temporary_path.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class Guard : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder / "model") << "weights";
    fs::create_symlink("model", folder / "link");
    fs::create_hard_link(folder / "model", folder / "hard");
    fs::create_directory_symlink(".", folder / "here");
  }
  void TearDown() override { guard_inputs(InputGuard::off); }

  bool writes(const fs::path& name) const {
    try {
      AtomicFile file(folder / name);
      file.write(std::string_view("new"));
      return true;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find("would replace"), std::string::npos) << e.message();
      return false;
    }
  }

  TemporaryFolder scratch{fs::temp_directory_path()};
  const fs::path folder = scratch.path();
};

TEST_F(Guard, InputsAreNotReplacedByAnyName) {
  guard_inputs(InputGuard::refuse);
  EXPECT_TRUE(writes("model")) << "nobody has read it";
  { const InputFile file(folder / "link"); }
  for (const char* name : {"model", "link", "hard", "here/model", "here/here/link"})
    EXPECT_FALSE(writes(name)) << name;
  EXPECT_TRUE(writes("other"));
}

TEST_F(Guard, MappedAndNamedFilesAreInputs) {
  guard_inputs(InputGuard::refuse);
  static_cast<void>(MappedFile::open(folder / "hard"));
  EXPECT_FALSE(writes("model"));
  std::ofstream(folder / "library") << "code";
  remember_input(folder / "library");
  remember_input(folder / "nowhere");
  EXPECT_FALSE(writes("library"));
  EXPECT_TRUE(writes("nowhere"));
}

TEST_F(Guard, ALibraryMayWriteWhatItHasRead) {
  { const InputFile file(folder / "model"); }
  EXPECT_TRUE(writes("model"));
  guard_inputs(InputGuard::remember);
  { const InputFile file(folder / "model"); }
  EXPECT_TRUE(writes("model"));
  EXPECT_EQ(take_remembered_inputs(), std::vector<fs::path>{folder / "model"});
  EXPECT_TRUE(take_remembered_inputs().empty());
}

TEST_F(Guard, AnOutputThatTurnsOutToBeAnInputIsRefusedBeforeItIsRead) {
  const auto reads = [&] { static_cast<void>(MappedFile::open(folder / "hard")); };
  guard_inputs(InputGuard::refuse);
  expect_output(folder / "link");
  EXPECT_THROW(reads(), Error);
  guard_inputs(InputGuard::off);
  guard_inputs(InputGuard::refuse);
  expect_output(folder / "link");
  AtomicFile file(folder / "link");
  file.commit();
  static_cast<void>(MappedFile::open(folder / "link"));  // a result
  EXPECT_NO_THROW(reads()) << "the other name of what was replaced";
}

TEST_F(Guard, FilesOfAFolderAreInputsByTheirNamesAlsoThoseThatAreNotThere) {
  guard_inputs(InputGuard::refuse);
  remember_inputs_in(folder / "here", [](const std::string& name) { return name != "other"; });
  fs::create_symlink("nowhere", folder / "dangling");
  for (const char* name : {"model", "hard", "link", "new", "here/new", "dangling"})
    EXPECT_FALSE(writes(name)) << name;
  EXPECT_TRUE(writes("other"));
  EXPECT_THROW(expect_output(folder / "new"), Error);
  expect_output(folder / "other");
  EXPECT_THROW(remember_inputs_in(folder, [](const std::string& name) { return name == "other"; }), Error);
}

TEST_F(Guard, AnInputThatIsOverwrittenIsNoticed) {
  guard_inputs(InputGuard::refuse);
  const auto model = MappedFile::open(folder / "link");
  EXPECT_NO_THROW(check_inputs_unchanged());
  std::ofstream(folder / "model") << "WEIGHTS";  // as many bytes
  fs::last_write_time(folder / "model", fs::file_time_type::clock::now() + std::chrono::seconds(1));
  EXPECT_THROW(check_inputs_unchanged(), Error);
  AtomicFile output(folder / "output");
  EXPECT_THROW(output.commit(), Error) << "nothing that was computed from it stays";
}

TEST_F(Guard, AnInputThatAnotherIsRenamedToIsTheOldOne) {
  guard_inputs(InputGuard::refuse);
  const auto model = MappedFile::open(folder / "link");
  std::ofstream(folder / "new") << "WEIGHTS";
  fs::rename(folder / "new", folder / "model");
  EXPECT_NO_THROW(check_inputs_unchanged());
}

}  // namespace
}  // namespace tenon
