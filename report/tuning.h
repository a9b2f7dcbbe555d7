// What a search for the fastest kernels found.
#pragma once
#include <nlohmann/json.hpp>

#include "runtime/tuning/search.h"

namespace tenon {

/// Groups whose kernel changed, what the rest is, and a whole run before and after.
std::string text_of(const TuneReport&);
/// Schema tenon.tune/1, described in docs/tuning.md.
nlohmann::ordered_json to_json(const TuneReport&);

}  // namespace tenon
