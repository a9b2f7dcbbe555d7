// Shares the heads and query rows of attention out over the threads.
#include "kernels/cpu/attention.h"

#include <algorithm>

#include "base/alignment.h"
#include "base/error.h"
#include "kernels/cpu/attention_rows.h"

namespace tenon::cpu {
namespace {

// A chunk packs the keys and values of its head for itself, which costs less the more rows it has. Few heads
// make smaller chunks, so that there are some for each thread.
long rows_per_chunk(const Attention& a) {
  constexpr long enough_heads = 8;
  return scaled(a.batch * a.heads >= enough_heads ? 224 : 112, a.schedule.block);
}

std::size_t worker_bytes(const Attention& a) {
  return aligned_up(static_cast<std::size_t>(attention_floats(a)) * sizeof(float), stream_skew);
}

}  // namespace

std::size_t attention_scratch_bytes(const Attention& a, int threads) {
  return worker_bytes(a) * static_cast<std::size_t>(threads);
}

void attention(const Attention& a, void* scratch, ThreadPool& pool) {
  TENON_CHECK(a.kv_heads > 0 && a.heads % a.kv_heads == 0);
  TENON_CHECK(a.float_mask == nullptr || a.bool_mask == nullptr);
  if (a.queries == 0) return;
  const long parts = (a.queries + rows_per_chunk(a) - 1) / rows_per_chunk(a);
  pool.parallel_for(a.batch * a.heads * parts, [&](long chunk, int worker) {
    const long part = chunk % parts;
    const long head = chunk / parts;
    const AttentionRows rows = {head / a.heads, head % a.heads, a.queries * part / parts,
                                a.queries * (part + 1) / parts};
    auto* const bytes = static_cast<std::byte*>(scratch) + worker_bytes(a) * static_cast<std::size_t>(worker);
    attention_rows(a, rows, reinterpret_cast<float*>(bytes));
  });
}

}  // namespace tenon::cpu
