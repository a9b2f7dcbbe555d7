// Which tests run: a choice that fits into everyday work and CI, or with TENON_TESTS=all (./dev test --all)
// all.
#pragma once
#include <cstdlib>
#include <string_view>

namespace tenon {

inline bool all_tests_run() {
  const char* const wanted = std::getenv("TENON_TESTS");
  return wanted && std::string_view(wanted) == "all";
}

/// Whether test `i` of a list runs, of which the choice is each `n`th.
inline bool is_chosen(std::size_t i, std::size_t n) { return all_tests_run() || i % n == 0; }

}  // namespace tenon
