// Which values may have gaps between their rows, because whoever reads them takes rows at any distance.
#pragma once
#include "ir/graph.h"
#include "ir/strided.h"

namespace tenon {

/// Elements in a row of a dense value, as products and attention read it, directly or through views. 0 where
/// none of them does, or where something else wants the value dense.
std::int64_t row_of_products(const Value& value, const Strided& dense);

/// Is each view of the value still a view where it lies like this? Of a value that row_of_products accepts.
bool keeps_views(const Value& value, const Strided& lies);

}  // namespace tenon
