#include "base/utf8.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Utf8, BytesThatAreNoCharacterBecomeQuestionMarks) {
  const std::pair<std::string, std::string> rows[] = {
      {"", ""},
      {"plain", "plain"},
      {"h\xc3\xa9", "h\xc3\xa9"},                // two bytes
      {"\xe2\x82\xac", "\xe2\x82\xac"},          // three
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},  // four
      {"a\xff"
       "b",
       "a?b"},
      {"\xc3", "?"},       // ends early
      {"\xc0\x80", "??"},  // longer than it must be
      {"\xe0\x80\x80", "???"},
      {"\xed\xa0\x80", "???"},       // half of a pair of UTF-16
      {"\xf4\x90\x80\x80", "????"},  // beyond Unicode
  };
  for (const auto& [text, valid] : rows) {
    EXPECT_EQ(valid_utf8(text), valid);
    EXPECT_EQ(is_utf8(text), text == valid) << valid;
  }
}

}  // namespace
}  // namespace tenon
