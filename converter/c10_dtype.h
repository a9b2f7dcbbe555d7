// The numbers by which PyTorch's programs name dtypes: those of c10::ScalarType.
#pragma once
#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace tenon::converter {

/// The dtype with c10's number, or nullopt when there is none here.
std::optional<DType> dtype_from_c10(std::int64_t code);
std::int64_t c10_code(DType);

}  // namespace tenon::converter
