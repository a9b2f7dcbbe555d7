// Numbers that options take, with messages that say which.
#pragma once
#include <CLI/CLI.hpp>

namespace tenon::tools {

/// A finite number of at least `least`.
CLI::Validator number_from(double least);
/// A whole number of at least `least`.
CLI::Validator integer_from(long least);
/// A text that is not empty, as an unset variable of a script would give.
CLI::Validator not_empty();

/// An amount of memory above none: 512MiB, 2GiB.
CLI::Validator amount_of_memory();

}  // namespace tenon::tools
