#include "tools/plan_explanation.h"

#include <fmt/core.h>

namespace tenon::tools {

void print_plan_explanation(const Model& model, const ModelOptions& options) {
  fmt::print("{}", Session(model.graph, options.session_options()).plan_explanation(options.values(model)));
}

}  // namespace tenon::tools
