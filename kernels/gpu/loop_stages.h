// When a row loop computes each value: a stage is a walk along the row, and ends with reductions.
#pragma once
#include <vector>

#include "kernels/loop_program.h"

namespace tenon::gpu {

struct LoopValue {
  bool needed = false;    // by a store
  bool of_row = false;    // one for each row: computed between the walks
  bool of_chunk = false;  // the same for all elements along the last dim
  int ready = 0;          // the first stage that can compute it
  int stage = 0;          // the one that does, as late as its users allow
  int last_use = 0;       // the last stage that reads it
};

/// One for each instruction; of a store: when it is written. `keeps`: values of the row's elements are kept
/// from stage to stage, so that memory is read once. Otherwise each stage computes what it needs.
std::vector<LoopValue> describe(const LoopCode& code, bool keeps);

/// How many walks along the row there are.
int stage_count(const LoopCode& code, const std::vector<LoopValue>& values);

/// Of a code that keeps: how many registers an element takes at most, of values from earlier stages and
/// reads.
int kept_values(const LoopCode& code);

/// Is the value of an earlier stage worth keeping, or rather computed again?
bool is_kept(const LoopCode& code, const std::vector<LoopValue>& values, Reg r);

}  // namespace tenon::gpu
