#include "fusion/pass.h"

#include <algorithm>

#include "ir/ops/control.h"
#include "ir/outline.h"
#include "ir/print.h"

namespace tenon {

bool Rewriter::allowed(std::string_view rule, const Node&) {
  if (options_.stop_after >= 0 && static_cast<int>(report_.rewrites.size()) >= options_.stop_after)
    return false;
  return std::none_of(options_.off.begin(), options_.off.end(),
                      [&](const std::string& name) { return name == rule || name == pass_; });
}

void Rewriter::record(std::string_view rule, const Source& location, const Node* result) {
  Rewrite r{.number = static_cast<int>(report_.rewrites.size()) + 1,
            .pass = std::string(pass_),
            .rule = std::string(rule),
            .location = location.str(),
            .text = {}};
  if (result) r.text = result->is<Fused>() ? group_text(*result) : print(result->op());
  report_.rewrites.push_back(std::move(r));
}

void Rewriter::refuse(std::string_view rule, const Node& node, std::string reason) {
  report_.refusals.push_back({std::string(rule), node.source.str(), std::move(reason)});
}

}  // namespace tenon
