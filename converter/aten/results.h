// Stores an operator's results: in memory of their own, or in the memory of the tensors that it writes.
#pragma once
#include "converter/aten/table.h"

namespace tenon::converter {

/// `entry` is what served the call; null: an operator definition did, which is pointwise or not.
std::vector<AbstractValue> to_values(Call&, const AtenEntry* entry, bool is_pointwise, Results);

/// Writes a result to the tensor, or to each in a list; one of another size than `target` (of an out=
/// argument) becomes its memory.
void store(Builder&, const AbstractValue& target, const AbstractValue& result);

/// The same values in memory of their own.
AbstractValue copied(Builder&, const AbstractValue&);

/// True when the in-place spelling of what the entry serves makes its tensor another view of its memory.
bool is_view(const AtenEntry*);

}  // namespace tenon::converter
