// Whether there is a matrix unit, and its state.
#include "kernels/cpu/matrix_unit.h"

#if defined(__AMX_TILE__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tenon::cpu::TENON_ISA {

#if defined(__AMX_TILE__)
namespace {

// What LDTILECFG reads (Intel's manual).
struct alignas(64) UnitLayout {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

bool cpu_has_unit() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned tiles = 1U << 24, bytes = 1U << 25, pairs = 1U << 22;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & tiles) == 0 || (d & bytes) == 0 || (d & pairs) == 0) return false;
  return __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}

// Linux saves the tiles of a process that has asked for it.
bool may_use_unit() {
  constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request, tile_data) == 0;
}

}  // namespace

bool has_matrix_unit() {
  static const bool has = cpu_has_unit() && may_use_unit();
  return has;
}

void configure_unit(long last_words) {
  UnitLayout layout;
  for (int tile = 0; tile < 8; tile++) {
    const auto cut = [&](int cut_tile, int whole) {
      return tile == cut_tile && last_words > 0 ? last_words : whole;
    };
    layout.rows[tile] = static_cast<std::uint8_t>(cut(last_b, unit_rows));
    layout.row_bytes[tile] = static_cast<std::uint16_t>(sizeof(float) * cut(last_a, unit_words));
  }
  asm volatile("ldtilecfg %0" ::"m"(layout));
}

void release_unit() { asm volatile("tilerelease"); }
#else
bool has_matrix_unit() { return true; }

EmulatedUnit& emulated_unit() {
  static thread_local EmulatedUnit unit;
  return unit;
}
void configure_unit(long last_words) { emulated_unit().last_words = last_words; }
void release_unit() {}
#endif

}  // namespace tenon::cpu::TENON_ISA
