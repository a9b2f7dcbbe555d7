// The tile of a product on the matrix unit: its sums, tile by tile of the unit, and then what the register
// tile does with its own.
#include "kernels/cpu/split_floats.h"
#include "kernels/cpu/tile_pairs.h"
#if defined(__AMX_TILE__)
#include "kernels/cpu/tile_codes.h"
#endif

namespace tenon::cpu::TENON_ISA {
namespace {

struct PairsOnUnit : PairsToHalves {
  template <int Sums, int A, int B>
  static TENON_INLINE void add() {
    MatrixUnit::add_pairs<Sums, A, B>();
  }
};

#if !defined(__AMX_TILE__)
struct BytesToCodes : PlainForm {  // but it makes none
  static constexpr bool sums_are_integers = true;
};
#endif

struct BytesOnUnit : BytesToCodes {
  template <int Sums, int A, int B>
  static TENON_INLINE void add() {
    MatrixUnit::add_bytes<Sums, A, B>();
  }
};

constexpr int block_words = unit_rows * panel_cols;  // sums of 16 rows in a panel

// Floats in pieces.
struct PiecesOnUnit : PlainForm {
  template <int Sums, int A, int B>
  static TENON_INLINE void add() {
    MatrixUnit::add_pairs<Sums, A, B>();
  }
};
template <class Form>
inline constexpr bool is_in_pieces = std::is_same_v<Form, PiecesOnUnit>;

// Where the factors of one call lie: up to two tiles of A, from the first row of each on.
struct Factors {
  const float* a[2];
  long a_stride;
  const float* b;
  long b_row_stride, b_panel_stride;

  const float* b_of(int column) const { return b + column / 2 * b_panel_stride + column % 2 * unit_words; }
};

// Tiles of the unit for factors: with two of each, no tile of B is loaded twice.
template <int A0, int A1, int B0, int B1>
struct FactorTiles {
  static constexpr int a[2] = {A0, A1}, b[2] = {B0, B1};
  static constexpr bool keeps_b = B0 != B1;
};
using WholeSteps = FactorTiles<4, 5, 6, 7>;
using WholeStepsBesideLast = FactorTiles<whole_a, whole_a, whole_b, whole_b>;
using LastStep = FactorTiles<last_a, last_a, last_b, last_b>;

// One step of the depth: tiles of A by tiles of B.
template <class Form, int Rows, int Columns, class Tiles>
TENON_INLINE void add_step(const Factors& f, long k) {
  const auto load_a = [&]<int Row>() __attribute__((always_inline)) {
    MatrixUnit::load<Tiles::a[Row]>(f.a[Row] + k, f.a_stride);
  };
  const auto load_b = [&]<int Column>() __attribute__((always_inline)) {
    MatrixUnit::load<Tiles::b[Column % 2]>(f.b_of(Column), f.b_row_stride);
  };
  const auto add = [&]<int Row, int Column>() __attribute__((always_inline)) {
    constexpr int sums = first_sums + (Rows == 1 ? Column : 2 * Row + Column);
    Form::template add<sums, Tiles::a[Row], Tiles::b[Column % 2]>();
  };
  load_a.template operator()<0>();
  load_b.template operator()<0>();
  add.template operator()<0, 0>();
  if constexpr (Columns > 1) {
    load_b.template operator()<1>();
    add.template operator()<0, 1>();
  }
  if constexpr (Columns == 4) {
    load_b.template operator()<2>();
    add.template operator()<0, 2>();
    load_b.template operator()<3>();
    add.template operator()<0, 3>();
  }
  if constexpr (Rows == 2) {
    load_a.template operator()<1>();
    if constexpr (Columns == 2) {
      add.template operator()<1, 1>();
      if constexpr (!Tiles::keeps_b) load_b.template operator()<0>();
    }
    add.template operator()<1, 0>();
  }
}

// Words of B in a step.
template <class Form>
constexpr long step_words = unit_words* panel_cols*(is_in_pieces<Form> ? FloatPieces::count : 1);

// One step of floats in pieces: the products of pieces that matter, each tile loaded as seldom as four
// registers allow.
class StepOfPieces {
 public:
  TENON_INLINE StepOfPieces(const Factors& f, long k, long a_distance)
      : f_(f), k_(k), a_distance_(a_distance) {}

  template <int Rows, int Columns>
  TENON_INLINE void add() const {
    if constexpr (Rows == 1) {
      load_a<0, 4>(0), load_a<0, 5>(1), load_a<0, 6>(2);
      add_column<0>();
      if constexpr (Columns > 1) add_column<1>();
      if constexpr (Columns == 4) add_column<2>(), add_column<3>();
    } else {
      load_b<Columns>(2), load_rows(0), add_all<Columns>();
      load_b<Columns>(1), add_all<Columns>();
      load_rows(1), add_all<Columns>();
      load_b<Columns>(0), add_all<Columns>();
      load_rows(2), add_all<Columns>();
      load_rows(0), add_all<Columns>();
    }
  }

 private:
  template <int Row, int Tile>
  TENON_INLINE void load_a(int piece) const {
    MatrixUnit::load<Tile>(f_.a[Row] + piece * a_distance_ + k_, f_.a_stride);
  }
  template <int Column, int Tile>
  TENON_INLINE void load_column(int piece) const {
    MatrixUnit::load<Tile>(f_.b_of(Column) + piece * unit_words * panel_cols, panel_cols);
  }
  TENON_INLINE void load_rows(int piece) const { load_a<0, 4>(piece), load_a<1, 5>(piece); }
  template <int Columns>
  TENON_INLINE void load_b(int piece) const {
    load_column<0, 6>(piece);
    if constexpr (Columns == 2) load_column<1, 7>(piece);
  }
  template <int Columns>
  static TENON_INLINE void add_all() {
    MatrixUnit::add_pairs<first_sums, 4, 6>();
    if constexpr (Columns == 2) MatrixUnit::add_pairs<first_sums + 1, 4, 7>();
    if constexpr (Columns == 2) MatrixUnit::add_pairs<first_sums + 3, 5, 7>();
    MatrixUnit::add_pairs<first_sums + 2, 5, 6>();
  }
  template <int Column>
  TENON_INLINE void add_column() const {
    constexpr int sums = first_sums + Column;
    load_column<Column, 7>(2);
    MatrixUnit::add_pairs<sums, 4, 7>();
    load_column<Column, 7>(1);
    MatrixUnit::add_pairs<sums, 5, 7>(), MatrixUnit::add_pairs<sums, 4, 7>();
    load_column<Column, 7>(0);
    MatrixUnit::add_pairs<sums, 6, 7>(), MatrixUnit::add_pairs<sums, 5, 7>(),
        MatrixUnit::add_pairs<sums, 4, 7>();
  }

  const Factors& f_;
  long k_, a_distance_;
};

// What a later tile reads, a share of it with each step.
class Prefetch {
 public:
  explicit Prefetch(const Tile& t) : next_(t.later), lines_(t.later ? t.later_step : 0) {}
  TENON_INLINE void step() {
    constexpr long line_words = 16;
    for (long i = 0; i < lines_; i++, next_ += line_words) __builtin_prefetch(next_, 0, 2);
  }

 private:
  const float* next_;
  long lines_;  // a word of `later_step` for each row of B
};

// Rows of the tile that one of the unit holds, and rows before them that it reads, too.
struct UnitRows {
  long count, before;
  UnitRows(const Tile& t, int unit)
      : count(t.height - unit * unit_rows < unit_rows ? t.height - unit * unit_rows : unit_rows),
        before(t.reads_rows_before ? unit_rows - count : 0) {}
};

// Sums begin as zeros, or as the offsets of their columns.
template <class Form, int Rows, int Columns>
TENON_INLINE void begin_sums(const Tile& t, long col) {
  const auto* const offsets = Form::sums_are_integers && t.integer_scales
                                  ? reinterpret_cast<const float*>(t.integer_offsets + col)
                                  : nullptr;
  const auto begin = [&]<int Row, int Column>() __attribute__((always_inline)) {
    constexpr int tile = first_sums + (Rows == 1 ? Column : 2 * Row + Column);
    if (offsets)
      MatrixUnit::load<tile>(offsets + Column * unit_words, 0);  // one row for all
    else
      MatrixUnit::zero<tile>();
  };
  begin.template operator()<0, 0>();
  if constexpr (Columns > 1) begin.template operator()<0, 1>();
  if constexpr (Columns == 4) begin.template operator()<0, 2>(), begin.template operator()<0, 3>();
  if constexpr (Rows == 2) begin.template operator()<1, 0>();
  if constexpr (Rows == 2 && Columns == 2) begin.template operator()<1, 1>();
}

// Writes the sums of Rows x Columns tiles to `sums`: two columns make a block, as wide as a panel. Calls
// between() after each step, whose vectors the CPU may work on while the unit multiplies.
template <class Form, int Rows, int Columns, bool HasLastStep, class Between>
TENON_INLINE void sum_tiles(const Tile& t, long col, const float* b, float* sums, Between between) {
  static_assert(Rows * Columns <= 4);
  using Whole = std::conditional_t<HasLastStep, WholeStepsBesideLast, WholeSteps>;
  begin_sums<Form, Rows, Columns>(t, col);
  Factors f{{}, t.a_stride, b, t.b_row_stride, t.b_panel_stride};
  Prefetch later(t);
  // The compiler takes it that the unit changes any memory.
  const long runs = t.runs, run_length = t.run_length, piece_distance = t.piece_distance;
  const long* const run_offsets = t.run_offsets;
  const float* a[Rows];
  for (int i = 0; i < Rows; i++) a[i] = t.a + t.a_row[i * unit_rows] - UnitRows(t, i).before * t.a_stride;
  for (long s = 0; s < runs; s++) {
    for (int i = 0; i < Rows; i++) f.a[i] = a[i] + (run_offsets ? run_offsets[s] : 0);
    long k = 0;
    for (; k + unit_words <= run_length; k += unit_words) {
      if constexpr (is_in_pieces<Form>) {
        StepOfPieces(f, k, piece_distance).template add<Rows, Columns>();
        f.b += step_words<Form>;
        for (int p = 0; p < FloatPieces::count; p++) later.step();
      } else {
        add_step<Form, Rows, Columns, Whole>(f, k);
        f.b += unit_words * f.b_row_stride;
        later.step();
      }
      between();
    }
    if constexpr (HasLastStep) {
      add_step<Form, Rows, Columns, LastStep>(f, k);
      f.b += (run_length - k) * f.b_row_stride;
      between();
    }
  }
  MatrixUnit::store<first_sums>(sums, panel_cols);
  if constexpr (Columns > 1) MatrixUnit::store<first_sums + 1>(sums + unit_words, panel_cols);
  if constexpr (Rows == 2 || Columns == 4) MatrixUnit::store<first_sums + 2>(sums + block_words, panel_cols);
  if constexpr (Rows * Columns == 4)
    MatrixUnit::store<first_sums + 3>(sums + block_words + unit_words, panel_cols);
}

// Sums of floats in pieces that became no numbers: an infinity times a piece that is zero makes NaN. They are
// made again by multiply-adds, from what the pieces were. Rows are those from `first` on.
template <int Rows, int Vectors>
__attribute__((noinline)) void sum_floats(const Tile& t, long first, const float* b,
                                          vf (&sums)[Rows][Vectors]) {
  vf again[Rows][Vectors] = {};
  const float* const a = t.a + t.a_row[first];
  for (long k = 0; k < 2 * t.run_length; k++) {
    const auto half_of = [k](vu words) { return k % 2 == 0 ? words << 16 : words & 0xffff0000u; };
    const float* const row =
        b + k / FloatPieces::step * step_words<PiecesOnUnit> + k % FloatPieces::step / 2 * panel_cols;
    for (int j = 0; j < Vectors; j++) {
      vu piece[FloatPieces::count];
      for (int p = 0; p < FloatPieces::count; p++)
        piece[p] = half_of(reinterpret_cast<vu>(load(row + p * unit_words * panel_cols + j * VL)));
      const vf factor = join_floats(piece);
      for (int i = 0; i < Rows; i++) {
        for (int p = 0; p < FloatPieces::count; p++)
          piece[p] =
              half_of(reinterpret_cast<vu>(broadcast(a[i * t.a_stride + p * t.piece_distance + k / 2])));
        again[i][j] += join_floats(piece) * factor;
      }
    }
  }
  for (int i = 0; i < Rows; i++)
    for (int j = 0; j < Vectors; j++) {
      const vi is_number = sums[i][j] - sums[i][j] == vf{};
      sums[i][j] = is_number ? sums[i][j] : again[i][j];
    }
}

template <int Rows, int Vectors>
TENON_INLINE bool are_numbers(const vf (&sum)[Rows][Vectors]) {
  vf zero[Vectors] = {};
  TENON_UNROLL
  for (int i = 0; i < Rows; i++) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) zero[j] += sum[i][j] - sum[i][j];
  }
  return !any(zero[0] + zero[Vectors - 1] != vf{});
}

template <int Rows, int Vectors>
TENON_INLINE void join_pieces(const Tile& t, long first, const float* b, vf (&sum)[Rows][Vectors]) {
  if (!are_numbers(sum)) sum_floats(t, first, b, sum);
  for (int i = 0; i < Rows; i++) {
    if (!t.small_rows[first + i]) continue;
    for (int j = 0; j < Vectors; j++) sum[i][j] *= of_their_sums;
  }
}

// So many rows of sums, from row `first` of the tile on.
template <class Form, int Rows, int Vectors>
void finish(const Tile& t, long first, const float* sums, long panel) {
  Tile rows = t;
  RoundedTile rounded{};
  if (t.rounded) {
    rounded = *t.rounded;
    rows.rounded = &rounded;
  }
  rows.move(first, 0);
  const long col = panel * panel_cols;
  vf sum[Rows][Vectors];
  TENON_UNROLL
  for (int i = 0; i < Rows; i++) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) sum[i][j] = load(sums + i * panel_cols + j * VL);
  }
  if constexpr (is_in_pieces<Form>) join_pieces(t, first, t.b + panel * t.b_panel_stride, sum);
  finish_sums<Form, Rows, Vectors>(rows, col, rows.c + panel * rows.c_panel_stride, sum, t.last_lanes);
}

// Sums that wait to be finished, piece by piece: of one tile of the product, or of two panels of a low one.
template <class Form, int Vectors>
class Pending {
 public:
  float* sums() { return sums_; }
  void set(const Tile& t, long panel, bool takes_two) {
    tile_ = &t;
    panel_ = panel;
    blocks_ = takes_two || t.height > unit_rows ? 2 : 1;
    takes_two_ = takes_two;
    block_ = done_ = 0;
    if constexpr (can_be_short) is_short_ = ShortFinish::does(t);
  }
  bool is_done() const { return block_ == blocks_; }
  void finish_piece() {
    const int unit = takes_two_ ? 0 : block_;
    const UnitRows rows(*tile_, unit);
    const long left = rows.count - done_;
    if (is_short_)
      finish_short(unit, rows, left < 8 ? left : 8);
    else if (left >= 8)
      finish_rows<8>(unit, rows);
    else if (left >= 4)
      finish_rows<4>(unit, rows);
    else if (left >= 2)
      finish_rows<2>(unit, rows);
    else
      finish_rows<1>(unit, rows);
    if (done_ == rows.count) block_++, done_ = 0;
  }
  void finish_all() {
    while (!is_done()) finish_piece();
  }

 private:
  static constexpr bool can_be_short = Form::rounds && Vectors == 2;

  const float* sums_of(const UnitRows& rows) const {
    return sums_ + block_ * block_words + (rows.before + done_) * panel_cols;
  }
  long panel_of_block() const { return panel_ + (takes_two_ ? block_ : 0); }
  TENON_INLINE void finish_short(int unit, const UnitRows& rows, long count) {
    if constexpr (can_be_short)
      ShortFinish(*tile_, panel_of_block() * panel_cols)
          .rows(*tile_, unit * unit_rows + done_, count, sums_of(rows), panel_cols);
    done_ += count;
  }
  template <int Rows>
  void finish_rows(int unit, const UnitRows& rows) {
    finish<Form, Rows, Vectors>(*tile_, unit * unit_rows + done_, sums_of(rows), panel_of_block());
    done_ += Rows;
  }

  alignas(64) float sums_[2 * block_words];
  const Tile* tile_ = nullptr;
  long panel_ = 0, done_ = 0;
  int block_ = 0, blocks_ = 0;
  bool takes_two_ = false, is_short_ = false;
};

void prefetch_result(const Tile& t, long panel) {
  constexpr long shallow = 64;  // so shallow that it costs more than it saves
  if (t.runs * t.run_length < shallow) return;
  const long col = panel * panel_cols;
  if (t.rounded) prefetch_rounded(t, col, t.height);
  if (t.rounded && t.rounded->halves) return;
  for (long i = 0; i < t.height; i++) {
    if (t.codes) {
      __builtin_prefetch(t.codes_to + col + t.c_row[i], 1);
      if (t.residual_codes) __builtin_prefetch(t.residual_codes + col + t.c_row[i]);
      continue;
    }
    const float* const c = t.c + panel * t.c_panel_stride;
    __builtin_prefetch(c + t.c_row[i], 1);
    __builtin_prefetch(c + t.c_row[i] + VL, 1);
  }
}

// While the unit multiplies for a tile, the sums of the one before it are finished.
template <class Form, int Vectors, bool HasLastStep>
__attribute__((noinline)) void run_unit_tile(Tile& t) {
  Pending<Form, Vectors> pending[2];
  int now = 0;
  const bool is_high = t.height > unit_rows;
  for (long panel = 0; panel < t.panels; now = 1 - now) {
    const float* const b = t.b + panel * t.b_panel_stride;
    const bool takes_two = Vectors == 2 && !is_high && panel + 1 < t.panels;
    prefetch_result(t, panel);
    Pending<Form, Vectors>& before = pending[1 - now];
    const auto between = [&]() __attribute__((always_inline)) {
      if (!before.is_done()) before.finish_piece();
    };
    float* const sums = pending[now].sums();
    if (is_high) {
      sum_tiles<Form, 2, Vectors, HasLastStep>(t, panel * panel_cols, b, sums, between);
    } else if (takes_two) {
      sum_tiles<Form, 1, 4, HasLastStep>(t, panel * panel_cols, b, sums, between);
    } else {
      sum_tiles<Form, 1, Vectors, HasLastStep>(t, panel * panel_cols, b, sums, between);
    }
    before.finish_all();
    pending[now].set(t, panel, takes_two);
    panel += takes_two ? 2 : 1;
  }
  pending[1 - now].finish_all();
}

template <class Form, int Vectors>
TileKernel pick_unit_tile(bool has_last_step) {
  return has_last_step ? run_unit_tile<Form, Vectors, true> : run_unit_tile<Form, Vectors, false>;
}
template <class Form>
TileKernel pick_unit_tile(int vectors, bool has_last_step) {
  return vectors == 1 ? pick_unit_tile<Form, 1>(has_last_step) : pick_unit_tile<Form, 2>(has_last_step);
}

}  // namespace

TileKernel unit_tile(TileForm form, int vectors, bool has_last_step) {
  if (form == TileForm::pieces)
    return vectors == 1 ? run_unit_tile<PiecesOnUnit, 1, false> : run_unit_tile<PiecesOnUnit, 2, false>;
  return form == TileForm::bytes ? pick_unit_tile<BytesOnUnit>(vectors, has_last_step)
                                 : pick_unit_tile<PairsOnUnit>(vectors, has_last_step);
}

}  // namespace tenon::cpu::TENON_ISA
