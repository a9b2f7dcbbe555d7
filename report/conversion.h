// What became of a model: what was folded, raised and fused, where its sizes come from, what is unsupported.
#pragma once
#include <nlohmann/json.hpp>

#include "pipeline/model.h"

namespace tenon {

std::string conversion_text(const Model&);

/// Schema "tenon.conversion/1" (docs/converter.md).
nlohmann::ordered_json conversion_json(const Model&);
/// The same of a model that is refused.
nlohmann::ordered_json conversion_json(const std::filesystem::path& model, const UnsupportedReport&,
                                       const Error&);

}  // namespace tenon
