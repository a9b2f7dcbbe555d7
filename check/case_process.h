// The process of a case: both of its ends.
#pragma once
#include "check/suite.h"

namespace tenon {

/// Starts `options.program check-case ...`, waits for its result and says so when it crashed, took too long
/// or too much memory. Throws Error when it cannot be started.
CaseResult run_in_process(const Case&, const SuiteOptions& options);

/// What that process does: allows itself the memory of the case's settings beyond what it holds now, runs the
/// case and writes to standard output, a JSON object a line, where it is and what came of it. It ends with
/// its parent.
void serve_case(const Case&, Update);

}  // namespace tenon
