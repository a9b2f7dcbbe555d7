#include "kernels/cpu/byte_function.h"

#include <map>
#include <numeric>
#include <vector>

#include "kernels/cpu/loop_kernel.h"

namespace tenon::cpu {
namespace {

// The function as a program of its own, over all bytes.
std::optional<LoopProgram> program_of(const LoopProgram& program, Reg byte, DType byte_type, Reg result,
                                      DType result_type) {
  LoopProgram function("bytes", {256});
  std::map<Reg, Reg> copies{{byte, function.load({.buffer = 0, .dtype = byte_type, .strides = {1}})}};
  const auto copy = [&](auto& self, Reg r) -> std::optional<Reg> {
    if (const auto known = copies.find(r); known != copies.end()) return known->second;
    Instruction i = program.code.instructions[static_cast<std::size_t>(r)];
    if (i.op != LoopOp::prim && i.op != LoopOp::constant) return std::nullopt;
    for (int k = 0; k < arg_count(i); ++k) {
      const auto arg = self(self, i.args[static_cast<std::size_t>(k)]);
      if (!arg) return std::nullopt;
      i.args[static_cast<std::size_t>(k)] = *arg;
    }
    function.code.instructions.push_back(i);
    return copies[r] = static_cast<Reg>(function.code.instructions.size()) - 1;
  };
  const auto made = copy(copy, result);
  if (!made) return std::nullopt;
  function.store({.buffer = 1, .dtype = result_type, .strides = {1}}, *made);
  return function;
}

}  // namespace

std::optional<ByteValues> function_of_byte(const LoopProgram& program, Reg byte, DType byte_type, Reg result,
                                           DType result_type) {
  const auto function = program_of(program, byte, byte_type, result, result_type);
  if (!function) return std::nullopt;
  ByteValues bytes, values{};
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  const auto kernel = LoopKernel::compile(*function);
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> scratch(kernel.scratch_bytes(1) / sizeof(Line) + 1);
  ThreadPool pool(1);
  void* const buffers[] = {bytes.data(), values.data()};
  kernel.run(buffers, scratch.data(), pool);
  return values;
}

}  // namespace tenon::cpu
