// JSON that others wrote.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace tenon {

/// As nlohmann::json::parse, whose values are copied, compared and printed by recursion: throws Error where
/// lists and objects are nested more than 200 deep.
nlohmann::json parse_json(std::string_view text);

/// A discarded value where the text is no JSON, or is nested too deeply.
nlohmann::json parse_json_or_discard(std::string_view text);

}  // namespace tenon
