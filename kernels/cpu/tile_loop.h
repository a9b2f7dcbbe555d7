// The loop of the register tile, for one form of its operands. Built once per ISA.
#pragma once
#include <type_traits>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/tile_kernel.h"

namespace tenon::cpu::TENON_ISA {

// Addresses of the rows of A at one run. Rows at equal distances share pointers (base + 0, 1, 2 strides),
// which keeps 14 of them in registers; up to 8 rows fit anyway.
template <int Rows, bool Uniform>
struct RowPointers {
  const float* row[Rows];
  TENON_INLINE RowPointers(const Tile& t, const float* a) {
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) row[i] = a + t.a_row[i];
  }
  TENON_INLINE float at(int i, long k) const { return row[i][k]; }
  TENON_INLINE const float* row_at(int i) const { return row[i]; }
};
template <int Rows>
struct RowPointers<Rows, true> {
  const float* third[(Rows + 2) / 3];
  long stride;
  TENON_INLINE RowPointers(const Tile& t, const float* a) : stride(t.a_stride) {
    TENON_UNROLL
    for (int i = 0; i < (Rows + 2) / 3; i++) third[i] = a + t.a_row[0] + 3 * i * stride;
  }
  TENON_INLINE float at(int i, long k) const { return third[i / 3][i % 3 * stride + k]; }
  TENON_INLINE const float* row_at(int i) const { return third[i / 3] + i % 3 * stride; }
};

// f(row, vector, lanes) for all vectors of a tile, of which the last one of each row has `last_lanes`.
template <int Rows, int Vectors, class F>
static TENON_INLINE void each_vector(int last_lanes, F f) {
  if (last_lanes == VL) {
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) f(i, j, VL);
    }
  } else {
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) f(i, j, j == Vectors - 1 ? last_lanes : VL);
    }
  }
}

// Adds a row of vectors, which moves with the rows, to the sums.
template <int Rows, int Vectors>
static TENON_INLINE void add_rows(vf (&sum)[Rows][Vectors], const float* from, const long* row,
                                  int last_lanes) {
  each_vector<Rows, Vectors>(
      last_lanes, [&](int i, int j, int lanes) __attribute__((always_inline)) {
        sum[i][j] += load_lanes(from + row[i] + j * VL, lanes);
      });
}

// Makes the numbers of sums that are integers and began as offsets. Columns lie in whole vectors.
template <int Rows, int Vectors>
static TENON_INLINE void scale_integers(vf (&sum)[Rows][Vectors], const float* scales) {
  TENON_UNROLL
  for (int j = 0; j < Vectors; j++) {
    const vf scale = load(scales + j * VL);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++)
      sum[i][j] = __builtin_convertvector(reinterpret_cast<vi>(sum[i][j]), vf) * scale;
  }
}

// What most forms have.
struct PlainForm {
  static constexpr bool sums_are_integers = false;
  static constexpr bool makes_codes = false;
  static constexpr bool rounds = false;
  static constexpr bool has_rest = false;
  static constexpr int group = 0;
  static constexpr int depth = 1;
  static constexpr int vector_words = VL;
  using Stored = vf;
  static TENON_INLINE vf load(const float* p) { return TENON_ISA::load(p); }
  template <int>
  static TENON_INLINE vf factor(vf stored) {
    return stored;
  }
};

// Element `Word` of each `Group` lanes, in all of them.
template <int Group, int Word, int... Lane>
static TENON_INLINE vf spread(vf v, LaneList<Lane...>) {
  return __builtin_shufflevector(v, v, (Lane / Group * Group + Word)...);
}

// One step of columns that read A in groups, as deep as a group: `a` begins at the first one's group.
template <class Form, int Rows, int Vectors, class Pointers>
static TENON_INLINE void add_groups(vf (&sum)[Rows][Vectors], const Pointers& a, const float* b,
                                    long b_row_stride, long b_panel_stride, int last_lanes) {
  const auto add_word = [&]<int Word>() __attribute__((always_inline)) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) {
      asm volatile(
          "" ::
              : "memory");  // else the compiler loads all of A first, into more registers than there are
      const vf factor =
          load(b + Word * b_row_stride + j / panel_vectors * b_panel_stride + j % panel_vectors * VL);
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) {
        const float* const from = a.row_at(i) + j * VL;
        if constexpr (Form::group == VL) {
          sum[i][j] += broadcast(from[Word]) * factor;
        } else {
          const vf x = load_lanes(from, j == Vectors - 1 ? last_lanes : VL);
          sum[i][j] += spread<Form::group, Word>(x, MakeLaneList<VL>::type{}) * factor;
        }
      }
    }
  };
  const auto add_words = [&]<int... Word>(LaneList<Word...>) __attribute__((always_inline)) {
    (add_word.template operator()<Word>(), ...);
  };
  add_words(typename MakeLaneList<Form::group>::type{});
}

// One step of the tile, `Depth` words of A deep. A form has
//   depth             words of A in a whole step
//   vector_words      words of B in a vector of columns
//   group             columns that read the same words of A; 0: all
//   Stored            what is loaded of B for a vector of columns
//   load(p)           -> Stored
//   factor<k>(stored) -> a vector of columns for word k
//   add(sum, x, factor)
//   sums_are_integers
//   has_rest          B is split: add_rest(sum, x, factor) is for the rows of Tile::rest
//   makes_codes       then store_codes(t, col, sum, last_lanes) does what Tile::codes says
//   rounds            then store_rounded(t, col, c, sum, last_lanes) does what Tile::rounded says, in
//   registers,
//                     where can_round(*t.rounding)
template <class Form, int Depth, int Rows, int Vectors, class Pointers>
static TENON_INLINE void add_step(vf (&sum)[Rows][Vectors], const Pointers& a, long k, const float* b,
                                  long b_panel_stride) {
  typename Form::Stored stored[Vectors];
  TENON_UNROLL
  for (int j = 0; j < Vectors; j++) {
    stored[j] = Form::load(b + j / panel_vectors * b_panel_stride + j % panel_vectors * Form::vector_words);
  }
  const auto add_word = [&]<int Word>() __attribute__((always_inline)) {
    vf factor[Vectors];
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) factor[j] = Form::template factor<Word>(stored[j]);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      const vf x = broadcast(a.at(i, k + Word));
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) sum[i][j] = Form::add(sum[i][j], x, factor[j]);
    }
  };
  add_word.template operator()<0>();
  if constexpr (Depth == 2) add_word.template operator()<1>();
}

// What of split bytes is beyond the panels: the rows of one run of A after the other.
template <int Vectors>
class RestRows {
 public:
  TENON_INLINE RestRows(const Tile& t, long panel) : rest_(*t.rest) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) {
      const std::int32_t* const strip = rest_.begin + (t.panel + panel) * panel_vectors + j;
      next_[j] = strip[0];
      end_[j] = strip[1];
    }
  }
  // Adds those of the next `length` words of the depth.
  template <class Form, int Rows, class Pointers>
  TENON_INLINE void add(vf (&sum)[Rows][Vectors], const Pointers& a, long length) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) {
      for (; next_[j] < end_[j] && rest_.words[next_[j]] < before_ + length; next_[j]++) {
        const vf factor = load(reinterpret_cast<const float*>(rest_.rows) + next_[j] * RestOfBytes::columns);
        const long k = rest_.words[next_[j]] - before_;
        TENON_UNROLL
        for (int i = 0; i < Rows; i++) sum[i][j] = Form::add_rest(sum[i][j], broadcast(a.at(i, k)), factor);
      }
    }
    before_ += length;
  }

 private:
  const RestOfBytes& rest_;
  long next_[Vectors], end_[Vectors];
  long before_ = 0;
};
struct NoRest {
  TENON_INLINE NoRest(const Tile&, long) {}
};

// Are sums rounded before they are stored?
template <class Form>
static TENON_INLINE bool rounds_itself(const Tile& t) {
  if constexpr (Form::rounds) return t.rounded && Form::can_round(*t.rounding);
  return false;
}

// Does what the tile says of sums whose depth is done, from column `col` on, and stores them from `c` on.
template <class Form, int Rows, int Vectors>
static TENON_INLINE void finish_sums(const Tile& t, long col, float* c, vf (&sum)[Rows][Vectors],
                                     int last_lanes) {
  if constexpr (Form::makes_codes) {
    if (t.codes) {
      Form::store_codes(t, col, sum, last_lanes);
      return;
    }
  }
  if constexpr (Form::sums_are_integers) {
    if (t.integer_scales) scale_integers(sum, t.integer_scales + col);
  }
  if (t.partial) add_rows(sum, t.partial + col, t.partial_row, last_lanes);
  if (t.bias) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) {
      const vf bias = load_lanes(t.bias + col + j * VL, j == Vectors - 1 ? last_lanes : VL);
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) sum[i][j] += bias;
    }
  }
  if (t.residual) add_rows(sum, t.residual + col, t.residual_row, last_lanes);
  activate_vectors(t.activation, sum);
  if constexpr (Form::rounds) {
    if (rounds_itself<Form>(t)) {
      Form::store_rounded(t, col, c, sum, last_lanes);
      return;
    }
  }
  float* to[Rows];  // a store could change what a tile points to
  TENON_UNROLL
  for (int i = 0; i < Rows; i++) to[i] = c + t.c_row[i];
  each_vector<Rows, Vectors>(
      last_lanes, [&](int i, int j, int lanes)
                      __attribute__((always_inline)) { store_lanes(to[i] + j * VL, sum[i][j], lanes); });
  if (leaves_rows(t.activation, t.added)) {
    finish_rows(t.activation, {.c = c,
                               .c_row = t.c_row,
                               .added = t.added ? t.added + col : nullptr,
                               .added_row = t.added_row,
                               .rows = Rows,
                               .cols = (Vectors - 1) * VL + last_lanes});
  }
  if (t.rounded) round_tile(t, col, c, Rows, (Vectors - 1) * VL + last_lanes);
}

template <class Form, int Rows, int Vectors, bool Uniform>
static TENON_INLINE void run_row_tile(const Tile& t) {
  constexpr int panels = Vectors <= panel_vectors ? 1 : Vectors / panel_vectors;
  // Several panels are whole.
  const int last_lanes = panels == 1 ? t.last_lanes : VL;
  constexpr int prefetch_ahead = 24;  // rows of B
  constexpr int line_words = 16;      // of a line of the cache
  constexpr long short_run = 256;
  // Of C and the residual. It costs a shallow tile more than it saves.
  constexpr long deep = 256;
  constexpr long shallow = 64;  // so shallow that no prefetch of what it rounds pays
  const bool has_second_line = Vectors * VL > line_words && t.runs * t.run_length >= deep;
  for (long panel = 0; panel < t.panels; panel += panels) {
    const long col = panel * panel_cols;
    float* c = t.c + panel * t.c_panel_stride;
    vf sum[Rows][Vectors];
    vf begin[Vectors] = {};
    if constexpr (Form::sums_are_integers) {
      if (t.integer_scales) {
        TENON_UNROLL
        for (int j = 0; j < Vectors; j++) begin[j] = from_bits(load(t.integer_offsets + col + j * VL));
      }
    }
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) sum[i][j] = begin[j];
    }
    const bool makes_codes = Form::makes_codes && t.codes;
    const bool rounds = rounds_itself<Form>(t);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      if (makes_codes) {
        __builtin_prefetch(t.codes_to + col + t.c_row[i], 1);
        if (t.residual_codes) __builtin_prefetch(t.residual_codes + col + t.c_row[i]);
        continue;
      }
      if (rounds && t.rounded->halves) continue;
      __builtin_prefetch(c + t.c_row[i], 1);
      if (has_second_line) __builtin_prefetch(c + t.c_row[i] + line_words, 1);
    }
    if (t.residual) {
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) {
        __builtin_prefetch(t.residual + col + t.residual_row[i]);
        if (has_second_line) __builtin_prefetch(t.residual + col + t.residual_row[i] + line_words);
      }
    }
    if (t.rounded && t.runs * t.run_length > shallow) prefetch_rounded(t, col, Rows);
    const float* b = t.b + panel * t.b_panel_stride;
    const float* later = t.later ? t.later : b;
    std::conditional_t<Form::has_rest, RestRows<Vectors>, NoRest> rest(t, panel);
    const float* const first_a = Form::group > 0 ? t.a + (t.panel + panel) * panel_cols : t.a;
    for (long s = 0; s < t.runs; s++) {
      const RowPointers<Rows, Uniform> a(t, first_a + (t.run_offsets ? t.run_offsets[s] : 0));
      // Short runs lie anywhere: the next one is asked for while this one is read.
      const bool next_is_near = s + 1 == t.runs || t.run_length > short_run;
      const long ahead = next_is_near ? 3 * line_words : t.run_offsets[s + 1] - t.run_offsets[s];
      long k = 0;
      for (; k + Form::depth <= t.run_length; k += Form::depth) {
        if constexpr (panels == 1) {
          __builtin_prefetch(b + prefetch_ahead * t.b_row_stride);
          if constexpr (Vectors * Form::vector_words > 16) {
            __builtin_prefetch(b + prefetch_ahead * t.b_row_stride + 16);
          }
          if constexpr (Rows > 3 && Form::depth == 1) {
            if (k % line_words == 0) {
              TENON_UNROLL
              for (int i = 0; i < Rows; i++) __builtin_prefetch(a.row_at(i) + k + ahead);
            }
          }
          __builtin_prefetch(later, 0, 2);
          later += t.later_step;
        }
        if constexpr (Form::group > 0) {
          add_groups<Form>(sum, a, b, t.b_row_stride, t.b_panel_stride, last_lanes);
          b += Form::group * t.b_row_stride;
        } else {
          add_step<Form, Form::depth>(sum, a, k, b, t.b_panel_stride);
          b += t.b_row_stride;
        }
      }
      if constexpr (Form::has_rest) rest.template add<Form>(sum, a, t.run_length);
      if constexpr (Form::depth == 2) {
        if (k < t.run_length) {
          add_step<Form, 1>(sum, a, k, b, t.b_panel_stride);
          b += t.b_row_stride;
        }
      }
    }
    finish_sums<Form, Rows, Vectors>(t, col, c, sum, last_lanes);
  }
}

template <class Form, int Rows, int Vectors, bool Uniform>
static __attribute__((noinline)) void run_tile(Tile& t) {
  for (long left = t.row_tiles;; t.move(Rows, t.later_share)) {
    run_row_tile<Form, Rows, Vectors, Uniform>(t);
    if (--left == 0) break;
  }
  if (t.row_tiles > 1) t.move(-Rows * (t.row_tiles - 1), -t.later_share * (t.row_tiles - 1));
}

template <class Form, int Vectors, bool Uniform, int... I>
static TileKernel pick_rows(int rows, LaneList<I...>) {
  static constexpr TileKernel kernels[] = {run_tile<Form, I + 1, Vectors, Uniform>...};
  return kernels[rows - 1];
}

template <class Form, bool Uniform>
static TileKernel pick(const TileCall& call) {
  using Rows = MakeLaneList<tile_rows>::type;
  if (call.vectors == 1) return pick_rows<Form, 1, Uniform>(call.rows, Rows{});
  if (call.vectors == panel_vectors) return pick_rows<Form, panel_vectors, Uniform>(call.rows, Rows{});
  static constexpr TileKernel several[] = {run_tile<Form, 1, panel_vectors * panels_at_once(1), Uniform>,
                                           run_tile<Form, 2, panel_vectors * panels_at_once(2), Uniform>,
                                           run_tile<Form, 3, panel_vectors * panels_at_once(3), Uniform>};
  return several[call.rows - 1];
}

template <class Form>
static TileKernel pick_tile(const TileCall& call) {
  if constexpr (tile_rows > 8) {
    if (call.is_uniform) return pick<Form, true>(call);
  }
  return pick<Form, false>(call);
}

}  // namespace tenon::cpu::TENON_ISA
