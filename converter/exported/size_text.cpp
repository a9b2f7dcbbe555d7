// A recursive-descent reader of the calls that SymPy's srepr consists of.
#include "converter/exported/size_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "base/error.h"

namespace tenon::exported {
namespace {

constexpr std::size_t kLongestText = 1 << 16;
constexpr int kDeepestSize = 200, kLargestPower = 8;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class SizeTextParser {
 public:
  explicit SizeTextParser(std::string_view text) : text_(text) {
    if (text.size() > kLongestText) fail("it is too long");
  }

  std::optional<std::string> whole() {
    auto out = expression(0);
    if (at_ != text_.size()) fail("something follows it");
    return out;
  }

 private:
  using Text = std::optional<std::string>;

  [[noreturn]] void fail(std::string_view why) const {
    throw error("the size '{}' cannot be read: {}", text_.substr(0, 80), why);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char c) {
    while (peek() == ' ') ++at_;
    if (peek() != c) return false;
    ++at_;
    while (peek() == ' ') ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' is missing at {}", c, at_));
  }

  std::string_view word() {
    const std::size_t start = at_;
    while (is_word(peek()) || peek() == '.') ++at_;
    if (at_ == start) fail(fmt::format("no name at {}", at_));
    return text_.substr(start, at_ - start);
  }

  Text expression(int depth) {
    if (depth > kDeepestSize) fail("it nests too deep");
    const std::string_view name = word();
    expect('(');
    if (name == "Symbol") return symbol();
    if (name == "Integer") return integer();
    std::vector<Text> parts;
    while (!accept(')')) {
      if (!parts.empty()) expect(',');
      parts.push_back(part(depth));
    }
    return combined(name, parts);
  }

  /// An operand; a keyword, string or plain number is none, and the whole has no form.
  Text part(int depth) {
    if (peek() == '\'') return quoted(), std::nullopt;
    if (peek() == '-' || std::isdigit(static_cast<unsigned char>(peek())) != 0) {
      accept('-');
      word();
      return std::nullopt;
    }
    const std::size_t start = at_;
    word();
    if (accept('=')) return word(), std::nullopt;
    if (peek() != '(') return std::nullopt;
    at_ = start;
    return expression(depth + 1);
  }

  std::string_view quoted() {
    expect('\'');
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) fail("a quote is open");
    const std::string_view inner = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inner;
  }

  Text symbol() {
    const std::string_view name = quoted();
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), is_word) &&
                         std::isdigit(static_cast<unsigned char>(name[0])) == 0;
    if (!is_name) fail("a symbol without a proper name");
    while (accept(',')) {
      word();
      expect('=');
      word();
    }
    expect(')');
    return std::string(name);
  }

  Text integer() {
    const bool negative = accept('-');
    const std::string_view digits = word();
    std::int64_t value = 0;
    const auto [end, e] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (e != std::errc() || end != digits.data() + digits.size()) fail("a number that is none");
    expect(')');
    return negative ? fmt::format("(-{})", value) : std::to_string(value);
  }

  static Text combined(std::string_view name, const std::vector<Text>& parts) {
    if (parts.empty() || std::any_of(parts.begin(), parts.end(), [](const Text& t) { return !t; })) return {};
    const bool two = parts.size() == 2;
    if (name == "Add") return joined(parts, "+");
    if (name == "Mul") return joined(parts, "*");
    if ((name == "FloorDiv" || name == "CleanDiv") && two)
      return fmt::format("({})//({})", *parts[0], *parts[1]);
    if ((name == "Mod" || name == "PythonMod") && two) return fmt::format("({})%({})", *parts[0], *parts[1]);
    if (name == "Max" || name == "Min") return nested(name == "Max" ? "max" : "min", parts);
    if (name == "Pow" && two) return power(*parts[0], *parts[1]);
    return {};
  }

  static std::string joined(const std::vector<Text>& parts, std::string_view sign) {
    std::string out;
    for (const Text& p : parts) out += fmt::format("{}({})", out.empty() ? "" : sign, *p);
    return out;
  }
  static std::string nested(std::string_view name, const std::vector<Text>& parts) {
    std::string out = *parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) out = fmt::format("{}({},{})", name, out, *parts[i]);
    return out;
  }
  static Text power(const std::string& base, const std::string& exponent) {
    int n = 0;
    const auto [end, e] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), n);
    if (e != std::errc() || end != exponent.data() + exponent.size() || n < 1 || n > kLargestPower) return {};
    return joined(std::vector<Text>(static_cast<std::size_t>(n), base), "*");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string> size_text(std::string_view srepr) { return SizeTextParser(srepr).whole(); }

}  // namespace tenon::exported
