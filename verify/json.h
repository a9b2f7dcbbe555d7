// What verification found, as JSON: the schema is in docs/verify.md. Numbers that are infinite are null.
#pragma once
#include <nlohmann/json.hpp>

#include "verify/bisect.h"
#include "verify/equiv.h"
#include "verify/properties.h"
#include "verify/rewrites.h"

namespace tenon {

nlohmann::json to_json(const Difference&);
nlohmann::json to_json(const OutputCheck&);
nlohmann::json to_json(const Divergence&);
nlohmann::json to_json(const RewriteSearch&);
nlohmann::json to_json(const Property&);
nlohmann::json to_json(const GraphDifference&);

std::string json_text(const nlohmann::json&);

}  // namespace tenon
