// mbarrier and cp.async.bulk.tensor by the names that a kernel calls them.
#pragma once
#include "interface.h"

inline void gpu_mbarrier_init(unsigned long long* barrier, unsigned arrivals) {
  gpusim::mbarrier_init(reinterpret_cast<uint64_t*>(barrier), arrivals);
}
inline void gpu_mbarrier_inval(unsigned long long* barrier) {
  gpusim::mbarrier_inval(reinterpret_cast<uint64_t*>(barrier));
}
inline void gpu_mbarrier_arrive(unsigned long long* barrier) {
  gpusim::mbarrier_arrive(reinterpret_cast<uint64_t*>(barrier), 0);
}
inline void gpu_mbarrier_arrive_expect_tx(unsigned long long* barrier, unsigned bytes) {
  gpusim::mbarrier_arrive(reinterpret_cast<uint64_t*>(barrier), bytes);
}
inline void gpu_mbarrier_wait(unsigned long long* barrier, unsigned parity,
                              const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  gpusim::mbarrier_wait(reinterpret_cast<uint64_t*>(barrier), parity, {file, line});
}
/// Begins to copy a box of the matrix that a CUtensorMap describes.
inline void gpu_bulk_copy_2d(void* shared, const void* map, int along, int down,
                             unsigned long long* barrier) {
  gpusim::bulk_copy_2d(shared, map, along, down, reinterpret_cast<uint64_t*>(barrier));
}
