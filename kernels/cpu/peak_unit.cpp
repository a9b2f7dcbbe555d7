// Chains of products of the matrix unit's tiles.
#include "kernels/cpu/matrix_unit.h"
#include "kernels/cpu/peak_loops.h"

namespace tenon::cpu::TENON_ISA {

#if defined(__AMX_TILE__)
namespace {

// Four sums of two tiles by two, each of which add() adds to; `depth` elements of a row.
template <class Add>
double run_tiles(long depth, Add add) {
  if (!has_matrix_unit()) return 0;
  constexpr int sums = 4, steps = 2000;
  alignas(64) static const float zeros[unit_rows * unit_words] = {};
  configure_unit(0);
  MatrixUnit::zero<0>(), MatrixUnit::zero<1>(), MatrixUnit::zero<2>(), MatrixUnit::zero<3>();
  MatrixUnit::load<4>(zeros, unit_words), MatrixUnit::load<5>(zeros, unit_words);
  MatrixUnit::load<6>(zeros, unit_words), MatrixUnit::load<7>(zeros, unit_words);
  for (int step = 0; step < steps; step++) add();
  release_unit();
  return 2.0 * unit_rows * unit_words * static_cast<double>(depth) * sums * steps;
}

}  // namespace

double unit_pair_chains() {
  return run_tiles(
      2 * unit_words, []() __attribute__((always_inline)) {
        MatrixUnit::add_pairs<0, 4, 6>(), MatrixUnit::add_pairs<1, 4, 7>();
        MatrixUnit::add_pairs<2, 5, 6>(), MatrixUnit::add_pairs<3, 5, 7>();
      });
}

double unit_byte_chains() {
  return run_tiles(
      4 * unit_words, []() __attribute__((always_inline)) {
        MatrixUnit::add_bytes<0, 4, 6>(), MatrixUnit::add_bytes<1, 4, 7>();
        MatrixUnit::add_bytes<2, 5, 6>(), MatrixUnit::add_bytes<3, 5, 7>();
      });
}
#else  // in plain code it has no rate
double unit_pair_chains() { return 0; }
double unit_byte_chains() { return 0; }
#endif

}  // namespace tenon::cpu::TENON_ISA
