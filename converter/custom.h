// Calls of operators that the user's libraries bring.
#pragma once
#include "converter/builder.h"
#include "ir/operator_library.h"

namespace tenon::converter {

/// `arguments` stand in the signature's order. Throws Error: unsupported when one has another kind than the
/// signature says, else when the types do not fit.
std::vector<AbstractValue> run_library_operator(Builder&, const LibraryOperator&,
                                                std::span<const AbstractValue> arguments);

}  // namespace tenon::converter
