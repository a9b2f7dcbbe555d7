#include "check/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>

#include "check/case_process.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

class Suite {
 public:
  Suite(std::span<const Case> cases, const SuiteOptions& options, const SuiteEvents& events)
      : cases_(cases), options_(options), events_(events) {
    result_.cases.resize(cases.size());
  }

  SuiteResult run() {
    const auto begin = Clock::now();
    {
      std::vector<std::jthread> workers;
      const auto jobs = std::min<std::size_t>(static_cast<std::size_t>(options_.jobs), cases_.size());
      for (std::size_t i = 0; i < jobs; ++i) workers.emplace_back([this] { work(); });
    }
    result_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    for (const CaseResult& r : result_.cases) {
      ++(r.status == Status::passed   ? result_.passed
         : r.status == Status::failed ? result_.failed
                                      : result_.skipped);
      result_.types_only += r.status == Status::passed && !r.types_only.empty();
    }
    return std::move(result_);
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < cases_.size(); i = next_++) {
      CaseResult& result = result_.cases[i];
      result = one(cases_[i]);
      if (result.status == Status::failed) any_failed_ = true;
      const std::lock_guard lock(speaking_);
      events_.ended(result);
    }
  }

  CaseResult one(const Case& c) {
    CaseResult skipped{.name = c.name, .model = c.model.string(), .status = Status::skipped};
    skipped.reason = !c.settings.skip.empty()            ? c.settings.skip
                     : options_.fail_fast && any_failed_ ? "not run: a case failed before"
                                                         : "";
    if (!skipped.reason.empty()) return skipped;
    {
      const std::lock_guard lock(speaking_);
      events_.started(c);
    }
    try {
      return run_in_process(c, options_);
    } catch (const std::exception& e) {  // no process can be started, or what it says makes no sense
      CaseResult failed{.name = c.name, .model = c.model.string()};
      failed.fail({.kind = failure::error, .message = e.what()});
      return failed;
    }
  }

  std::span<const Case> cases_;
  const SuiteOptions& options_;
  const SuiteEvents& events_;
  SuiteResult result_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> any_failed_{false};
  std::mutex speaking_;
};

}  // namespace

std::string SuiteResult::summary() const {
  const std::string types = types_only ? fmt::format(" ({} by types and sizes only)", types_only) : "";
  return fmt::format("{} passed{}, {} failed, {} skipped", passed, types, failed, skipped);
}

SuiteResult run_suite(std::span<const Case> cases, const SuiteOptions& options, const SuiteEvents& events) {
  return Suite(cases, options, events).run();
}

}  // namespace tenon
