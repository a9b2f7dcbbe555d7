// What is suggested can be pasted into a shell.
#include "base/shell.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Shell, PlainWordsStayAndOthersAreQuoted) {
  EXPECT_EQ(in_shell("models/net-1.pt"), "models/net-1.pt");
  EXPECT_EQ(in_shell("x=f32[2,3]"), "'x=f32[2,3]'");
  EXPECT_EQ(in_shell("it's"), R"('it'\''s')");
  EXPECT_EQ(in_shell(""), "''");
  EXPECT_EQ(in_shell("\u8f93\u5165"), "'\u8f93\u5165'");
}

TEST(Shell, AWordIsOneLineThatATerminalDoesNotObey) {
  EXPECT_EQ(in_shell("a\nb"), R"($'a\nb')");
  EXPECT_EQ(in_shell("\x1b[31m"), R"($'\x1b[31m')");
  EXPECT_EQ(in_shell("it's\t\\"), R"($'it\'s\t\\')");
  EXPECT_EQ(in_shell("\xff"), R"($'\xff')");
}

}  // namespace
}  // namespace tenon
