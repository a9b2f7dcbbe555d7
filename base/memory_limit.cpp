// Limits on the memory that this process may take.
#include "base/memory_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

namespace tenon {
namespace {

// Pages of data and stack: what RLIMIT_DATA counts.
std::uint64_t data_in_use() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  for (int field = 0; field < 6; ++field) file >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

rlimit present_limit() {
  rlimit limit = {};
  ::getrlimit(RLIMIT_DATA, &limit);
  return limit;
}

// The hard limit stays: child processes have limits of their own.
void set_limit(std::uint64_t bytes) {
  rlimit limit = present_limit();
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, bytes);
  ::setrlimit(RLIMIT_DATA, &limit);
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

MemoryLimit* innermost = nullptr;

}  // namespace

MemoryLimit::MemoryLimit(std::uint64_t bytes)
    : bytes_(bytes),
      before_(present_limit().rlim_cur),
      limit_(sum(data_in_use(), bytes)),
      around_(innermost),
      handler_before_(std::set_new_handler(on_exhausted)) {
  set_limit(std::min(limit_, before_));
  innermost = this;
}

MemoryLimit::~MemoryLimit() {
  std::set_new_handler(handler_before_);
  set_limit(before_);
  innermost = around_;
}

void MemoryLimit::on_exhausted() {
  if (innermost && !innermost->reached_) {
    innermost->reached_ = true;
    extend(innermost->bytes_);
  }
  throw std::bad_alloc();
}

void MemoryLimit::extend(std::uint64_t bytes) {
  if (!innermost) return;
  innermost->limit_ = sum(innermost->limit_, bytes);
  set_limit(std::min(innermost->limit_, innermost->before_));
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr double k = 1024, d = 1000;
  constexpr Unit units[] = {{"", 1},   {"B", 1},  {"KiB", k},    {"MiB", k * k},    {"GiB", k * k * k},
                            {"kB", d}, {"KB", d}, {"MB", d * d}, {"GB", d * d * d}, {"TiB", k * k * k * k}};
  double amount = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (failed != std::errc() || !(amount >= 0)) return std::nullopt;
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const Unit& unit : units)
    if (rest == unit.name && amount * unit.bytes < 9e18)
      return static_cast<std::uint64_t>(std::llround(amount * unit.bytes));
  return std::nullopt;
}

std::string memory_text(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(units); ++unit) amount /= 1024;
  std::string text = fmt::format("{:.1f}", amount);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text.append(units[unit]);
}

}  // namespace tenon
