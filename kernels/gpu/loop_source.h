// Loop programs as the text of GPU kernels: one text for CUDA, HIP and the emulation.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "kernels/gpu/loop_form.h"

namespace tenon::gpu {

/// What a compiler takes: the text of a header ("kernels/gpu/pool.gpu.h") with all that it includes, then the
/// kernels. It includes nothing.
std::string translation_unit(std::string_view header, std::string_view kernels);
inline constexpr std::string_view loop_header = "kernels/gpu/loop_walks.gpu.h";

/// The kernel `name` (unique in its translation unit), which depends on no size. Its parameters: a pointer to
/// each buffer, in the order of their numbers; a pointer to a Fault, if the code reports any; and the
/// arguments (loop_arguments), by value.
std::string loop_source(const LoopCode& code, const LoopForm& form, std::string_view name);

/// A loop without reductions and faults as a part of a kernel.
struct LoopPart {
  LoopCode code;
  LoopForm form;
};
/// The kernel `name` of several such loops, each of which has some of its blocks. Its parameters: the
/// pointers of all loops, the arguments of each, and for each the block behind its last one, as 64-bit
/// integers.
std::string joined_source(std::span<const LoopPart> loops, std::string_view name);

/// The epilogue of a program over [rows, cols] that runs on a tile (LoopOp::tile):
///   struct NAME_tile { pointers as above; [Fault* fault;] NAME_arguments a; };
///   __device__ void NAME(const NAME_tile& tile, const TilePieces<T, chunks, vector>& pieces)
/// which an anchor calls for all elements of its result: those of a piece lie side by side in a row, and
/// what all of the pieces read is read at once. The program is not arranged; its form has group none.
std::string tile_source(const LoopCode& code, const LoopForm& form, std::string_view name);

/// The form of epilogues: pieces of four elements. How many pieces changes no argument.
inline constexpr LoopForm tile_form_of(int pieces) { return {.vector = 4, .chunks = pieces, .wide = true}; }
inline constexpr LoopForm tile_form = tile_form_of(4);

/// A program over [rows, cols] as the type of what computes one element, which is what its store, the last
/// instruction, is given. It writes nothing: the store's buffer is no_buffer.
///   struct NAME {
///     pointers as above; [Fault* fault;] NAME_arguments a;
///     __device__ T operator()(Index i0, Index i1) const;
///   };
std::string value_source(const LoopCode& code, const LoopForm& form, std::string_view name);
inline constexpr int no_buffer = -1;

}  // namespace tenon::gpu
