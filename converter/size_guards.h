// Guards on sizes: models whose shapes only agree when a size does not exceed a limit, as in x + table[:S]
// for S up to the table's size.
#pragma once
#include <span>

#include "converter/builder.h"
#include "converter/report.h"

namespace tenon::converter {

/// The guard (Builder::guarded_min) under which the shapes in this error would be equal. Null if the error
/// has another cause.
const Builder::SizeGuard* missing_guard(const Error&, std::span<const Builder::SizeGuard>);

/// The note for a guard that the conversion assumes.
ConvertNote assumed_guard(const Builder::SizeGuard&);

}  // namespace tenon::converter
