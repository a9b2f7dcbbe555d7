// A look at a pickle: a stack machine whose values are nesting depths.
#include "converter/archive/pickle.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace tenon {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view pickle) : text_(pickle) {}

  PickleSummary run() {
    while (step()) {}
    return std::move(summary_);
  }

 private:
  static constexpr std::size_t kMark = SIZE_MAX;
  static constexpr std::size_t kMostValues = std::size_t{1} << 22;  // at a time; real models hold thousands

  [[noreturn]] void damaged(std::string_view how) const {
    throw error("a pickle in the file is damaged at byte {}: {}", at_, how)
        .hint("copy or download the file again");
  }
  std::string_view take(std::uint64_t size) {
    if (size > text_.size() - at_) damaged("it ends too early");
    const auto part = text_.substr(at_, size);
    at_ += part.size();
    return part;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view line() {
    const auto end = text_.find('\n', at_);
    if (end == std::string_view::npos) damaged("it ends too early");
    const auto part = take(end - at_);
    ++at_;
    return part;
  }

  [[noreturn]] void too_many() const {
    throw error("a pickle in the file holds more than {} values at a time", kMostValues)
        .hint("no exported model does this: the file is damaged or hostile");
  }

  void push(std::size_t depth) {
    stack_.push_back(depth);
    if (stack_.size() > kMostValues) too_many();
    summary_.depth = std::max(summary_.depth, depth);
  }
  std::size_t pop() {
    if (stack_.empty() || stack_.back() == kMark) damaged("its stack is empty");
    const auto depth = stack_.back();
    stack_.pop_back();
    return depth;
  }
  std::size_t pop_to_mark() {
    std::size_t deepest = 0;
    while (!stack_.empty() && stack_.back() != kMark) deepest = std::max(deepest, pop());
    if (stack_.empty()) damaged("a mark is missing");
    stack_.pop_back();
    return deepest;
  }
  void wrap(int count) {
    std::size_t deepest = 0;
    for (int i = 0; i < count; ++i) deepest = std::max(deepest, pop());
    push(deepest + 1);
  }
  /// The items become part of the container under them.
  void put_into_container(std::size_t items) { push(std::max(pop(), items + 1)); }
  void remember(std::uint64_t key) {
    if (stack_.empty() || stack_.back() == kMark) damaged("it remembers nothing");
    memo_[key] = stack_.back();
    if (memo_.size() > kMostValues || key > text_.size()) too_many();
  }
  void recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) damaged("it recalls what it never stored");
    push(found->second);
  }
  void global(std::string name) {
    if (seen_.insert(name).second) summary_.globals.push_back(std::move(name));
    push(0);
  }
  std::uint64_t decimal() {
    std::uint64_t value = 0;
    for (const char c : line()) {
      if (c < '0' || c > '9' || value > UINT64_MAX / 16) damaged("a memo key is not a number");
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
  }
  void skip(std::uint64_t size) {
    take(size);
    push(0);
  }

  /// One opcode; false after the last.
  bool step() {
    const char op = take(1)[0];
    switch (op) {
      case '.': pop(); return false;
      case '\x80': take(1); break;  // PROTO
      case '\x95': take(8); break;  // FRAME
      case '(':
        push(0);
        stack_.back() = kMark;
        break;
      case '0': pop(); break;
      case '1': pop_to_mark(); break;
      case '2': push(pop()), push(stack_.back()); break;
      case 'N':
      case '\x88':
      case '\x89':
      case ')':
      case ']':
      case '}':
      case '\x8f': push(0); break;
      case 'K': skip(1); break;
      case 'M': skip(2); break;
      case 'J': skip(4); break;
      case 'G': skip(8); break;
      case '\x8a': skip(number<std::uint8_t>()); break;   // LONG1
      case '\x8b': skip(number<std::uint32_t>()); break;  // LONG4
      case 'X':
      case 'T':
      case 'B': skip(number<std::uint32_t>()); break;
      case '\x8c':
      case 'U':
      case 'C': skip(number<std::uint8_t>()); break;
      case '\x8d':
      case '\x8e': skip(number<std::uint64_t>()); break;
      case 'I':
      case 'L':
      case 'F':
      case 'S':
      case 'V':
      case 'P': line(), push(0); break;
      case 't':
      case 'l':
      case 'd':
      case '\x91': push(pop_to_mark() + 1); break;
      case '\x85': wrap(1); break;
      case '\x86': wrap(2); break;
      case '\x87': wrap(3); break;
      case 'a': put_into_container(pop()); break;
      case 'e':
      case 'u':
      case '\x90': put_into_container(pop_to_mark()); break;
      case 's': {
        const auto value = pop();
        put_into_container(std::max(value, pop()));
        break;
      }
      case 'b':
      case 'R':
      case '\x81': wrap(2); break;
      case '\x92': wrap(3); break;
      case 'o':
      case 'i':
        if (op == 'i') name_of_lines();
        push(pop_to_mark() + 1);
        break;
      case 'Q': wrap(1); break;
      case 'c': global(name_of_lines()); break;
      case '\x93': pop(), pop(), global("?"); break;  // STACK_GLOBAL: the names are on the stack
      case 'q': remember(number<std::uint8_t>()); break;
      case 'r': remember(number<std::uint32_t>()); break;
      case '\x94': remember(memo_.size()); break;
      case 'p': remember(decimal()); break;
      case 'h': recall(number<std::uint8_t>()); break;
      case 'j': recall(number<std::uint32_t>()); break;
      case 'g': recall(decimal()); break;
      default: damaged("it has an unknown opcode");
    }
    return true;
  }
  std::string name_of_lines() {
    std::string module(line());
    return module + "." + std::string(line());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::size_t> stack_;
  std::unordered_map<std::uint64_t, std::size_t> memo_;
  std::unordered_set<std::string> seen_;
  PickleSummary summary_;
};

}  // namespace

PickleSummary scan_pickle(std::string_view pickle) { return Scanner(pickle).run(); }

}  // namespace tenon
