// Many cases, each in a process of its own.
#pragma once
#include "check/run_case.h"

namespace tenon {

struct SuiteOptions {
  int jobs = 1;
  std::chrono::milliseconds timeout{300'000};  // of a case that sets none
  std::uint64_t memory_bytes = 0;              // the same; 0: no limit
  bool fail_fast = false;                      // start no further case after a failed one
  bool allow_libraries = false;                // a case may name libraries to load
  DeviceChoice device{};                       // of all cases; what is empty is each case's own
  Update update;
  std::string program = "/proc/self/exe";  // answers to "check-case"
};

struct SuiteEvents {
  std::function<void(const Case&)> started = [](const Case&) {};
  std::function<void(const CaseResult&)> ended = [](const CaseResult&) {};  // in the order of their ends
};

struct SuiteResult {
  std::vector<CaseResult> cases;  // in the order of the given ones
  double seconds = 0;
  int passed = 0, failed = 0, skipped = 0;
  int types_only = 0;  // of the passed ones: with outputs compared by types and sizes only

  bool ok() const { return failed == 0; }
  /// "3 passed (1 by types and sizes only), 0 failed, 1 skipped"
  std::string summary() const;
};

/// Runs the cases. A crash, a time-out or too much memory is the failure of one case. Events come from
/// several threads, one at a time. When this process ends, by whatever signal, its cases end.
SuiteResult run_suite(std::span<const Case> cases, const SuiteOptions& options, const SuiteEvents& events);

}  // namespace tenon
