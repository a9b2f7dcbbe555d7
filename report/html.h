// One page that holds everything: no other file, no network.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace tenon {

/// A page for a model (schema "tenon.model/1", see report/model.h) with the times of a profile (schema
/// "tenon.profile/1"), or without when that is null. Its parts are in report/page/.
std::string html(const nlohmann::ordered_json& model, const nlohmann::ordered_json& profile = nullptr);

}  // namespace tenon
