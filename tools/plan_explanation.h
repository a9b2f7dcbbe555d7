// What --explain-plan prints.
#pragma once
#include "tools/model_options.h"

namespace tenon::tools {

inline constexpr const char* explain_plan_help =
    "For each step: the kernels that could run it, the time each is estimated to take, and which was taken "
    "and why";

/// Plans the model for the sizes that the options give.
void print_plan_explanation(const Model& model, const ModelOptions& options);

}  // namespace tenon::tools
