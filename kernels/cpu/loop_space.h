// The iteration space of a loop program, put into the form that is run: dims of extent 1 dropped, dims
// ordered by memory and merged, and one rows x cols tile chosen. Internal to the loop kernels.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/loop_program.h"
#include "kernels/schedule.h"

namespace tenon::cpu {

inline constexpr long block_elements = 1024;  // a register of floats is 4 KiB: a handful stay in L1
/// Rows up to here are held whole in registers, several if they are short.
inline constexpr long whole_row_limit = 2048;

/// How the space is walked.
///   map:      nothing is reduced; every tile is independent.
///   rows:     tile rows are kept, tile columns are the reduced row (a row of x is contiguous).
///   columns:  tile rows are reduced, tile columns are kept (the kept dim is contiguous).
/// Where an inner part of a row is short and lies beside the kept dim, it is part of the columns, too
/// (LoopSpace::together): the channels of a group, in an image whose channels are last.
enum class LoopMode { map, rows, columns };

/// The address of one operand (or the value of one iota) as an affine function of the space.
struct Access {
  long offset = 0;
  std::vector<long> outer;
  std::vector<long> reduced_outer;
  long p = 0;
  // The dims of the columns, merged where the operand lies evenly along several of them.
  std::vector<long> q_extents, q;
  long word = 1;  // map: so many neighbouring columns always lie side by side, and are moved as one
};
/// The access of words: their first elements, with strides in words. Offsets and outer strides stay.
Access in_words(const Access&);

/// Points of the space: outer x reduced_outer x p x q. An item of work is one point of `outer` and one block
/// of the kept tile dims; it walks through all of the reduced ones.
struct LoopSpace {
  LoopMode mode = LoopMode::map;
  std::vector<long> outer;          // kept dims outside of the tile
  std::vector<long> reduced_outer;  // reduced dims outside of the tile (columns only)
  long p = 1;                       // the dim the rows of tiles run over
  std::vector<long> q;              // the dims the columns of tiles run over; more than one cannot be merged
  long q_count = 1;                 // their product
  long together = 1;  // columns: so many neighbouring ones are of the same row; blocks hold whole rows
  bool in_stretches = false;  // rows: blocks of columns do not go beyond the last dim's extent
  long p_block = 1;           // largest tile
  long q_block = 1;
  long long_block = 1;           // columns at once, where a walk over the row does not stop at stretches
  std::vector<Access> operands;  // as in the program
  std::vector<Access> iotas;     // one per instruction; empty where the instruction is no iota

  /// Do the columns of a tile lie evenly?
  bool has_one_stride(const Access& a) const { return in_stretches || a.q.size() == 1; }
  /// The most columns of a block that begins at q0.
  long columns_from(long q0, bool crosses_stretches = false) const {
    const long here = in_stretches && !crosses_stretches ? q.back() - q0 % q.back() : q_count - q0;
    const long most = crosses_stretches ? long_block : q_block;
    return here < most ? here : most;
  }
};

/// `on_tile`: keep (rows, cols) as they are, for programs that run on a tile an anchor hands in.
LoopSpace plan_space(const LoopProgram& program, bool on_tile);
/// Blocks of `times` as many elements as those of plan_space, whose registers of floats fill a part of L1.
void choose_blocks(LoopSpace& space, long times, Schedule::Block block);

}  // namespace tenon::cpu
