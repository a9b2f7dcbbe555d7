// Steps that nothing orders, and that one start of a kernel runs.
#pragma once
#include "runtime/plan.h"

namespace tenon {

/// Joins each step with an earlier one where the device can (Step::joined) and what it depends on comes
/// before that one, to whose node it is counted from there on.
void join_steps(Plan& plan);

}  // namespace tenon
