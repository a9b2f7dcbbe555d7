// An error of a part, with the part's name before it.
#pragma once
#include <string_view>

#include "base/error.h"

namespace tenon {

/// "add: shapes [2] and [3] do not broadcast"; all else of the error stays.
inline Error named(std::string_view part, const Error& e) {
  Error out = Error(fmt::format("{}: {}", part, e.message()), e.code()).at(e.where()).hint(e.hint());
  const auto& sizes = e.unless_equal();
  return sizes ? std::move(out).unless_equal(sizes->first, sizes->second) : out;
}

}  // namespace tenon
