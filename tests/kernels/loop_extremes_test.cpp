// Maxima, minima and their places: NaN wins, and of equals the first.
#include <cmath>
#include <random>

#include "tests/kernels/dense_program.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/loop_buffers.h"

namespace tenon::cpu {
namespace {

class LoopExtremes : public OnEveryIsa {};
TENON_EVERY_ISA(LoopExtremes);

TEST_P(LoopExtremes, NanWinsInMaxAndMin) {
  for (const std::int64_t length : {5, 40, 3000}) {
    LoopProgram p = program_over({4, length}, 1);
    const Reg x = p.load(dense(p, 0));
    p.store({1, DType::f32, {1, 0}}, p.reduce(Reduce::max, x));
    p.store({2, DType::f32, {1, 0}}, p.reduce(Reduce::min, x));
    p.store({3, DType::i64, {1, 0}}, p.reduce(Reduce::argmax, x));
    expect_matches_reference(p, [&](LoopBuffers& b) {
      b.as<float>(0)[0] = NAN;
      b.as<float>(0)[static_cast<std::size_t>(2 * length - 1)] = NAN;
      b.as<float>(0)[static_cast<std::size_t>(2 * length + 3)] = NAN;
    });
  }
}

TEST_P(LoopExtremes, TheFirstOfEqualExtremesIsFoundAndTheFirstNan) {
  std::mt19937 random(3);
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
    for (const std::int64_t length : {1, 31, 32, 33, 100, 5000}) {
      LoopProgram p = program_over({9, length}, 1);
      const Reg x = p.load(dense(p, 0, dtype));
      p.store({1, DType::i64, {1, 0}}, p.reduce(Reduce::argmax, x));
      p.store({2, DType::i64, {1, 0}}, p.reduce(Reduce::argmin, x));
      expect_matches_reference(p, [&, seed = random()](LoopBuffers& buffers) {
        std::mt19937 own(seed);
        for (std::int64_t i = 0; i < buffers.elements(0); ++i) {
          const bool is_nan = i / length % 3 == 0 && own() % 50 == 0;
          const auto value = static_cast<std::int64_t>(own() % 3);
          buffers.set(0, i, {is_nan ? std::nan("") : static_cast<double>(value), value});
        }
      });
    }
}

}  // namespace
}  // namespace tenon::cpu
