#include "kernels/cpu/random.h"

#include <algorithm>

namespace tenon::cpu {

void random_bits(const RandomRun& run, ThreadPool& pool) {
  constexpr long piece = 4096;
  pool.parallel_for((run.count + piece - 1) / piece, [&](long chunk, int) {
    RandomRun part = run;
    part.first += chunk * piece;
    part.count = std::min(piece, run.count - chunk * piece);
    part.out += chunk * piece;
    random_piece(part);
  });
}

}  // namespace tenon::cpu
