// The characters of the text form: words, numbers and places for messages.
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ir/attr.h"

namespace tenon {

/// Skips blanks and line ends before each token. Every failure is an Error placed at "line L, column C".
class Lexer {
 public:
  using Mark = std::size_t;
  explicit Lexer(std::string_view text) : text_(text) {}

  char peek();
  bool at_digit();
  Mark mark();
  std::string place(Mark) const;

  void expect(char);
  bool try_char(char);
  void expect_word(std::string_view);
  bool try_word(std::string_view);
  void expect_end();

  /// Letters, digits, '_', '.' and '\''.
  std::string name();
  /// "double-quoted".
  std::string string();
  std::int64_t integer();
  /// true, false, inf, -inf, nan, an integer or a number.
  Attr number();
  std::optional<Attr> try_number();
  /// The name of an attribute when a name and '=' follow.
  std::optional<std::string> try_field();
  /// The text of a type, up to its closing bracket.
  std::string_view type_text();
  /// The text of a dim expression or dtype: up to a ',' ')' ']' outside parentheses.
  std::string_view dim_text();
  /// What stands behind '#' on the same line.
  std::optional<std::string_view> comment();

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
    fail_at(mark(), text, std::forward<Args>(args)...);
  }
  template <class... Args>
  [[noreturn]] void fail_at(Mark at, fmt::format_string<Args...> text, Args&&... args) {
    throw error("{}", fmt::format(text, std::forward<Args>(args)...)).at(place(at));
  }

 private:
  void skip();
  char hexadecimal();
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tenon
