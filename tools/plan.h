// Plans of a model for the sizes that the options give.
#pragma once
#include <fmt/core.h>

#include <functional>

#include "tools/model_options.h"

namespace tenon::tools {

inline constexpr const char* explain_plan_help =
    "For each step: the kernels that could run it, the time each is estimated to take, and which was taken "
    "and why";

/// `text` says what to print of the plan.
inline void print_plan(const Model& model, const ModelOptions& options,
                       const std::function<std::string(const Plan&)>& text) {
  Session session(model.graph, options.session_options(model));
  fmt::print("{}", text(*session.plan_with_stages(options.values(model))));
}

}  // namespace tenon::tools
