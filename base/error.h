// The one error a user sees: what is wrong, where, and what to do about it.
#pragma once
#include <fmt/core.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenon {

/// Exit codes of the command line (docs/cli.md).
enum class Exit : int { done = 0, differs = 1, bad_input = 2, unsupported = 3 };

/// A mistake in the input, or something Tenon does not support. The message is a full sentence with
/// names and values. `where` is a file, module path or source line; `hint` says what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string message, Exit code = Exit::bad_input);
  // In error.cpp: whoever throws or may be unwound would compile them again.
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error() override;

  Error& at(std::string where) & { return where_ = std::move(where), *this; }
  Error&& at(std::string where) && { return where_ = std::move(where), std::move(*this); }
  Error& hint(std::string what_to_do) & { return hint_ = std::move(what_to_do), *this; }
  Error&& hint(std::string what_to_do) && { return hint_ = std::move(what_to_do), std::move(*this); }
  /// Two sizes with symbols, as text: it is no mistake where they are equal.
  Error&& unless_equal(std::string a, std::string b) && {
    return unless_equal_.emplace(std::move(a), std::move(b)), std::move(*this);
  }

  const std::string& message() const { return message_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }
  Exit code() const { return code_; }
  const std::optional<std::pair<std::string, std::string>>& unless_equal() const { return unless_equal_; }

 private:
  std::string message_, where_, hint_;
  std::optional<std::pair<std::string, std::string>> unless_equal_;
  Exit code_;
};

Error format_error(Exit code, fmt::string_view text, fmt::format_args args);

/// throw error("dim {} is {}", 0, 5).at("model.pt").hint("give --input");
template <class... Args>
Error error(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(Exit::bad_input, text, fmt::make_format_args(args...));
}
template <class... Args>
Error unsupported(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(Exit::unsupported, text, fmt::make_format_args(args...));
}

/// A broken invariant of ours: never the user's fault. Thrown by TENON_CHECK.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* what, const char* file, int line);

}  // namespace tenon

#define TENON_CHECK(condition) \
  ((condition) ? void() : ::tenon::check_failed(#condition, __FILE_NAME__, __LINE__))
