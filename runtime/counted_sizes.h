// Operators whose results are as large as their data says, for devices that have kernels for none of them.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// Writes nonzero, repeat_each, unique and suppress_overlaps (ir/ops/data_size.h) as operators of known sizes
/// around one count_up each, whose number is all that the host has to read; in regions inside, too. What the
/// results hold then comes from an iota, so that no other node reads that of a count_up. It leaves unique of
/// complex numbers as it is.
void count_sizes(Region&);

/// Whether there are operators that it writes this one as.
bool has_counted_size(const Op&);

}  // namespace tenon
