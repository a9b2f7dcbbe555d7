#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace tenon {
namespace {

constexpr std::array<std::string_view, 4> keys{"tolerance", "timeout", "threads", "off"};

TEST(Nearest, FindsTheWordWithOneLetterMissingOrWrong) {
  EXPECT_EQ(nearest("tolerence", keys), "tolerance");
  EXPECT_EQ(nearest("time_out", keys), "timeout");
  EXPECT_EQ(nearest("thread", keys), "threads");
  EXPECT_EQ(nearest("of", keys), "off");
}

TEST(Nearest, IsEmptyWhereNothingIsKnown) { EXPECT_EQ(nearest("x", {}), ""); }

}  // namespace
}  // namespace tenon
