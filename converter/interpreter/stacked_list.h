// Lists whose length is only known when the model runs: what a loop of unknown length appended.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "converter/interpreter/objects.h"

namespace tenon::converter {

/// stack, cat and indexing of a list with stacked items; nullopt when none is among the arguments.
std::optional<AbstractValue> run_on_stacked_list(Builder&, std::string_view name,
                                                 std::span<const AbstractValue> arguments);

/// len of a list that a loop of unknown length appends to, in its body; nullopt for anything else. Throws
/// ListGrows where the loop does not count its items yet.
std::optional<AbstractValue> length_while_growing(Builder&, ObjectStore&, std::string_view name,
                                                  std::span<const AbstractValue> arguments);

}  // namespace tenon::converter
