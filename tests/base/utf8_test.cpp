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

TEST(Printable, ObeysNothing) {
  const std::pair<std::string, std::string> rows[] = {
      {"plain h\xc3\xa9 \xf0\x9f\x98\x80", "plain h\xc3\xa9 \xf0\x9f\x98\x80"},
      {"a\nb\r\tc", R"(a\u000ab\u000d\u0009c)"},
      {"\033]0;title\a", R"(\u001b]0;title\u0007)"},
      {std::string("\0", 1), R"(\u0000)"},
      {"\x7f", R"(\u007f)"},
      {"\xc2\x9b"
       "31m",
       R"(\u009b31m)"},                                   // CSI in one character
      {"\xe2\x80\xa8 \xe2\x80\xae", R"(\u2028 \u202e)"},  // a line break, right to left
      {"\xef\xbf\xbe\xef\xbf\xbf", R"(\ufffe\uffff)"},    // no characters of XML
      {"\x9b"
       "31m \xed\xa0\x80",
       R"(\x9b31m \xed\xa0\x80)"},  // no UTF-8
  };
  for (const auto& [text, shown] : rows) EXPECT_EQ(printable(text), shown);
  EXPECT_EQ(printable_lines("one\n\033two"), "one\n\\u001btwo");
  for (int byte = 0; byte < 256; ++byte)
    for (const char c : printable(std::string(3, static_cast<char>(byte))))
      EXPECT_TRUE(c >= 0x20 && c < 0x7f);
}

}  // namespace
}  // namespace tenon
