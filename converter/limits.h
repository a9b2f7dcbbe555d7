// Models that fit together only where a size does not exceed a limit: x + table[:S] for S up to the table's
// size.
#pragma once
#include <span>

#include "converter/builder.h"
#include "converter/report.h"

namespace tenon::converter {

/// The limit (Builder::limited) without which the shapes in this error are not known to be equal; null if the
/// error has another cause.
const Builder::Limit* missing_limit(const Error&, std::span<const Builder::Limit>);

/// What is said of a limit that is assumed.
ConvertNote assumption_of(const Builder::Limit&);

}  // namespace tenon::converter
