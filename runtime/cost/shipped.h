// The cost model that is part of the program: runtime/cost/model.json.
#pragma once
#include <string_view>

namespace tenon::cost {

extern const std::string_view model_json;

}  // namespace tenon::cost
