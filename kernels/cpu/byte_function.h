// Functions of one byte in loop programs, as what they give for all 256.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "kernels/loop_program.h"

namespace tenon::cpu {

using ByteValues = std::array<std::uint8_t, 256>;

/// Register `result`, of u8, i8 or bool, as a function of register `byte`, which holds values of one of these
/// types. nullopt where it depends on anything else that is no constant.
std::optional<ByteValues> function_of_byte(const LoopProgram& program, Reg byte, DType byte_type, Reg result,
                                           DType result_type);

}  // namespace tenon::cpu
