#include "ir/lex.h"

#include <charconv>
#include <limits>

namespace tenon {
namespace {

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '\'';
}

}  // namespace

void Lexer::skip() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
    ++at_;
}

char Lexer::peek() {
  skip();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Lexer::at_digit() { return std::isdigit(static_cast<unsigned char>(peek())); }

Lexer::Mark Lexer::mark() {
  skip();
  return at_;
}

std::string Lexer::place(Mark at) const {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i < at && i < text_.size(); ++i) {
    ++column;
    if (text_[i] == '\n') ++line, column = 1;
  }
  return fmt::format("line {}, column {}", line, column);
}

bool Lexer::try_char(char c) {
  if (peek() != c || at_ >= text_.size()) return false;
  ++at_;
  return true;
}

void Lexer::expect(char c) {
  if (try_char(c)) return;
  if (at_ >= text_.size()) fail("the text ends where '{}' is expected", c);
  fail("'{}' stands where '{}' is expected", text_[at_], c);
}

bool Lexer::try_word(std::string_view word) {
  skip();
  if (text_.substr(at_, word.size()) != word) return false;
  if (at_ + word.size() < text_.size() && is_name(text_[at_ + word.size()])) return false;
  at_ += word.size();
  return true;
}

void Lexer::expect_word(std::string_view word) {
  if (!try_word(word)) fail("'{}' is expected here", word);
}

void Lexer::expect_end() {
  if (peek() != '\0' || at_ < text_.size()) fail("text behind the end of the graph");
}

std::string Lexer::name() {
  skip();
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_name(text_[at_])) ++at_;
  if (begin == at_) fail("a name is expected here");
  return std::string(text_.substr(begin, at_ - begin));
}

char Lexer::hexadecimal() {
  unsigned value = 0;
  const char* begin = text_.data() + at_;
  const char* end = begin + std::min<std::size_t>(2, text_.size() - at_);
  if (std::from_chars(begin, end, value, 16).ptr != begin + 2)
    fail("two hexadecimal digits are expected here");
  at_ += 2;
  return static_cast<char>(value);
}

std::string Lexer::string() {
  expect('"');
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c == '\\' && at_ < text_.size()) {
      c = text_[at_++];
      c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'x' ? hexadecimal() : c;
    }
    out += c;
  }
  if (at_ >= text_.size()) fail("the text ends inside a string");
  ++at_;
  return out;
}

std::int64_t Lexer::integer() {
  skip();
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (ec != std::errc()) fail("an integer is expected here");
  at_ = static_cast<std::size_t>(end - text_.data());
  return value;
}

std::optional<Attr> Lexer::try_number() {
  if (try_word("true")) return Attr(true);
  if (try_word("false")) return Attr(false);
  if (try_word("inf")) return Attr(std::numeric_limits<double>::infinity());
  if (try_word("nan")) return Attr(std::numeric_limits<double>::quiet_NaN());
  skip();
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with("-inf")) {
    at_ += 4;
    return Attr(-std::numeric_limits<double>::infinity());
  }
  std::size_t n = rest.starts_with('-') ? 1 : 0;
  bool whole = true;
  const std::size_t first = n;
  while (n < rest.size()) {
    const char c = rest[n];
    const bool sign_of_exponent = (c == '-' || c == '+') && n > first && rest[n - 1] == 'e';
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && !(c == 'e' && n > first) &&
        !sign_of_exponent)
      break;
    whole = whole && std::isdigit(static_cast<unsigned char>(c));
    ++n;
  }
  // A digit may also begin a dim expression: 2*N, (H+1)//2.
  const char next = n < rest.size() ? rest[n] : '\0';
  if (n == first || next == '*' || next == '+' || next == '-' || next == '/' || next == '%')
    return std::nullopt;
  const char* begin = rest.data();
  if (whole) {
    std::int64_t value = 0;
    if (std::from_chars(begin, begin + n, value).ec != std::errc()) fail("the integer does not fit 64 bits");
    at_ += n;
    return Attr(value);
  }
  double value = 0;
  const auto [end, ec] = std::from_chars(begin, begin + n, value);
  if (ec == std::errc::invalid_argument || end != begin + n) fail("'{}' is not a number", rest.substr(0, n));
  at_ += n;
  return Attr(value);
}

Attr Lexer::number() {
  if (auto n = try_number()) return *n;
  fail("an operand is expected here: %value, @weight, a number or a string");
}

std::optional<std::string> Lexer::try_field() {
  skip();
  std::size_t end = at_;
  while (end < text_.size() && is_name(text_[end])) ++end;
  if (end == at_ || end >= text_.size() || text_[end] != '=') return std::nullopt;
  std::string field(text_.substr(at_, end - at_));
  at_ = end + 1;
  return field;
}

std::string_view Lexer::type_text() {
  skip();
  const std::size_t begin = at_;
  const std::size_t close = text_.find(']', at_);
  if (close == std::string_view::npos) fail("a type such as f32[N,3] is expected here");
  at_ = close + 1;
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::dim_text() {
  skip();
  const std::size_t begin = at_;
  int depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '(') ++depth;
    if (depth == 0 && (c == ',' || c == ')' || c == ']')) break;
    if (c == ')') --depth;
    ++at_;
  }
  if (begin == at_) fail("a value is expected here");
  return text_.substr(begin, at_ - begin);
}

std::optional<std::string_view> Lexer::comment() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  if (at_ >= text_.size() || text_[at_] != '#') return std::nullopt;
  std::size_t begin = at_ + 1;
  while (begin < text_.size() && text_[begin] == ' ') ++begin;
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  at_ = end;
  return text_.substr(begin, end - begin);
}

}  // namespace tenon
