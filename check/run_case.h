// One case, from its files to its result, in this process.
#pragma once
#include <functional>

#include "check/case.h"
#include "check/result.h"

namespace tenon {

/// What a run records instead of comparing.
struct Update {
  bool outputs = false, graph = false, speed = false;

  bool any() const { return outputs || graph || speed; }
};

/// What --update can be told to record, by name.
inline constexpr std::pair<const char*, bool Update::*> update_kinds[] = {
    {"outputs", &Update::outputs}, {"graph", &Update::graph}, {"speed", &Update::speed}};

/// What a run says while it goes on, so that its end can be told when it does not return.
struct CaseEvents {
  std::function<void(std::string_view stage)> stage = [](std::string_view) {};
  /// The result as it stands before the long search for the first difference.
  std::function<void(const CaseResult&)> verdict = [](const CaseResult&) {};
};

/// Converts, compares and records. Whatever is wrong with the case is a failure of the result.
CaseResult run_case(const Case&, Update, const CaseEvents&);

}  // namespace tenon
