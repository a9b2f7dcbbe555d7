// A profile as JSON: schema tenon.profile/1, described in docs/profile.md.
#pragma once
#include <nlohmann/json.hpp>

#include "report/profile.h"

namespace tenon {

nlohmann::ordered_json to_json(const ProfileReport&);
/// The field "model".
nlohmann::ordered_json to_json(const ModelInfo&);

}  // namespace tenon
