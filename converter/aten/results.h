// What becomes of an operator's results: memory of their own, or that of the tensors which it writes.
#pragma once
#include "converter/aten/table.h"

namespace tenon::converter {

/// `entry` is what served the call; null: an operator definition did, which is pointwise or not.
std::vector<Datum> to_datums(Call&, const Entry* entry, bool is_pointwise, Results);

/// Writes a result to the tensor, or to each in a list; one of another size than `target` (of an out=
/// argument) becomes its memory.
void store(Builder&, const Datum& target, const Datum& result);

/// The same values in memory of their own.
Datum copied(Builder&, const Datum&);

/// True when the in-place spelling of what the entry serves makes its tensor another view of its memory.
bool is_view(const Entry*);

}  // namespace tenon::converter
