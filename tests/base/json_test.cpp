// JSON that others wrote.
#include "base/json.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

std::string nested(std::size_t depth, std::string_view inside = "") {
  return std::string(depth, '[') + std::string(inside) + std::string(depth, ']');
}

TEST(Json, NestsUpTo200Deep) {
  EXPECT_TRUE(parse_json(nested(200)).is_array());
  for (const std::size_t depth : {201, 200'000}) {
    EXPECT_THROW(parse_json(nested(depth)), Error);
    EXPECT_TRUE(parse_json_or_discard(nested(depth)).is_discarded());
    EXPECT_THROW(parse_json(std::string(depth, '[')), Error);
  }
}

TEST(Json, BracketsInStringsAreText) {
  const std::string text = R"("[[\"[[\\")" + std::string(",\"") + std::string(1000, '[') + "\"";
  EXPECT_EQ(parse_json("[" + text + "]")[0], R"([["[[\)");
}

TEST(Json, WhatIsNoneIsDiscardedOrThrows) {
  EXPECT_THROW(parse_json("{"), nlohmann::json::exception);
  EXPECT_TRUE(parse_json_or_discard("{").is_discarded());
}

}  // namespace
}  // namespace tenon
