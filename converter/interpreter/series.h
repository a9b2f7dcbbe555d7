// Lists whose length is only known when the model runs: what a loop of unknown length appended.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "converter/interpreter/objects.h"

namespace tenon::converter {

/// stack, cat and indexing of a list that ends with a series; nullopt when none is among the arguments.
std::optional<Datum> run_series(Builder&, std::string_view name, std::span<const Datum> arguments);

/// len of a list that a loop of unknown length appends to, in its body; nullopt for anything else. Throws
/// ListGrows where the loop does not count its items yet.
std::optional<Datum> length_while_growing(Builder&, ObjectStore&, std::string_view name,
                                          std::span<const Datum> arguments);

}  // namespace tenon::converter
