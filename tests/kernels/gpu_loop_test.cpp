// The GPU's loops give what their plain reading gives: compiled for the emulation, with waves of 32 and
// of 64.
#include <map>
#include <numeric>

#include "kernels/gpu/loop_faults.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_split.h"
#include "tests/kernels/emulated_kernels.h"
#include "tests/kernels/loop_cases.h"
#include "tests/kernels/random_loops.h"

namespace tenon::gpu {
namespace {

constexpr GpuLimits small{.processors = 2, .threads_per_processor = 512};

/// The kernels of many programs as one source: equal codes share a kernel.
class Kernels {
 public:
  std::string add(const LoopProgram& program, const LoopForm& form) {
    const std::string text = loop_source(program.code, form, "kernel");
    const auto [found, is_new] = names_.try_emplace(text, program.name + "_" + std::to_string(names_.size()));
    if (!is_new) return found->second;
    source_ += loop_source(program.code, form, found->second);
    list_.push_back(found->second);
    return found->second;
  }
  EmulatedKernels compile(int wave) const { return {translation_unit(loop_header, source_), list_, wave}; }

 private:
  std::map<std::string, std::string> names_;
  std::vector<std::string> list_;
  std::string source_;
};

struct Fault {  // as kernels write it
  long long found = 0, value = 0, detail = 0;
};

struct Launchable {
  LoopProgram program;
  LoopForm form;
  std::string kernel;

  void run(const EmulatedKernels& kernels, LoopBuffers& buffers, Fault& fault) const {
    const LoopLaunch launch = loop_launch(program, form, small);
    if (launch.grid == 0) return;
    std::vector<void*> pointers = buffers.pointers();
    std::vector<std::byte> arguments = loop_arguments(program, form);
    Fault* const reported = &fault;
    std::vector<void*> parameters;
    for (void*& pointer : pointers) parameters.push_back(&pointer);
    if (reports_faults(program.code)) parameters.push_back(const_cast<Fault**>(&reported));
    parameters.push_back(arguments.data());
    parameters.push_back(nullptr);
    kernels.launch(kernel, static_cast<unsigned>(launch.grid), static_cast<unsigned>(launch.block),
                   static_cast<std::size_t>(launch.shared_bytes), parameters.data());
  }
};

Launchable prepare(Kernels& kernels, const LoopProgram& program) {
  verify(program);
  Launchable result{arranged(program), {}, {}};
  verify(result.program);
  result.form = loop_form(result.program, small);
  result.kernel = kernels.add(result.program, result.form);
  return result;
}

class GpuLoop : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Wave, GpuLoop, ::testing::Values(32, 64));

void expect_reference(const std::vector<LoopCase>& cases, const std::vector<Launchable>& loops,
                      const EmulatedKernels& kernels) {
  ASSERT_TRUE(kernels.ok());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    LoopBuffers expected(cases[i].program);
    LoopBuffers actual(cases[i].program);
    for (LoopBuffers* buffers : {&expected, &actual})
      if (cases[i].prepare) cases[i].prepare(*buffers);
    Fault fault;
    run_reference(cases[i].program, expected.pointers());
    loops[i].run(kernels, actual, fault);
    SCOPED_TRACE(loops[i].kernel);
    EXPECT_EQ(fault.found, cases[i].divides_by_zero ? 1 : 0) << to_string(cases[i].program);
    expect_close(actual, expected, cases[i].program);
  }
}

TEST_P(GpuLoop, GivesWhatThePlainReadingGives) {
  const std::vector<LoopCase> cases = all_loop_cases();
  Kernels sources;
  std::vector<Launchable> loops;
  for (const LoopCase& c : cases) loops.push_back(prepare(sources, c.program));
  expect_reference(cases, loops, sources.compile(GetParam()));
}

/// Any form serves any size: the choice is one of speed.
TEST_P(GpuLoop, GivesTheSameInEveryForm) {
  const std::vector<LoopForm> forms = {
      {.group = RowGroup::lanes, .width = 1, .chunks = 2},
      {.group = RowGroup::lanes, .width = 32, .vector = 4, .chunks = 2, .wide = true},
      {.group = RowGroup::lanes, .width = 8, .vector = 2, .chunks = 16, .keeps = true},
      {.group = RowGroup::block, .threads = 64, .width = 64, .vector = 1, .chunks = 2, .wide = true},
      {.group = RowGroup::block, .threads = 128, .width = 128, .vector = 8, .chunks = 1, .keeps = true},
      {.group = RowGroup::columns, .threads = 128, .width = 16, .chunks = 4},
      {.group = RowGroup::columns, .threads = 256, .width = 128, .chunks = 64, .keeps = true, .wide = true}};
  std::vector<LoopCase> cases;
  std::vector<Launchable> loops;
  Kernels sources;
  for (const LoopForm& form : forms)
    for (const LoopCase& c :
         {LoopCase{loop_cases::layer_norm(7, 70)}, LoopCase{loop_cases::layer_norm(9, 96)},
          LoopCase{loop_cases::softmax_of_columns(2, 17, 40)},
          LoopCase{loop_cases::every_reduction(5, 70, DType::f32, false)},
          LoopCase{loop_cases::normed_embedding(20, 40), loop_cases::indices_below(20)}}) {
      cases.push_back(c);
      loops.push_back({arranged(c.program), form, {}});
      loops.back().kernel = sources.add(loops.back().program, form);
    }
  for (const int vector : {1, 4}) {
    cases.push_back({loop_cases::add_transposed(64, 128)});
    loops.push_back({arranged(cases.back().program), {.vector = vector, .chunks = 2, .wide = true}, {}});
    loops.back().kernel = sources.add(loops.back().program, loops.back().form);
  }
  expect_reference(cases, loops, sources.compile(GetParam()));
}

/// The form the sizes ask for, and one that reads rows again and shares them otherwise.
TEST(GpuLoopRandom, IntegersAreExact) {
  const char* const first = std::getenv("TENON_RANDOM_LOOPS");
  const auto seed = static_cast<unsigned>(first ? std::atoi(first) : 3080);
  std::vector<LoopCase> cases;
  std::vector<Launchable> loops;
  Kernels sources;
  for (unsigned i = 0; i < (first ? 150U : 12U); ++i) {
    const LoopProgram program = RandomLoop(seed + i).make();
    cases.push_back({program});
    loops.push_back(prepare(sources, program));
    if (program.code.reduced == 0) continue;
    cases.push_back({program});
    Launchable other{arranged(program), {.chunks = 2}, {}};
    other.form.group = i % 2 == 0 ? RowGroup::columns : RowGroup::block;
    other.form.threads = 128;
    other.form.width = i % 2 == 0 ? 16 : 128;
    other.kernel = sources.add(other.program, other.form);
    loops.push_back(other);
  }
  expect_reference(cases, loops, sources.compile(32));
}

/// The program in parts, by its plain reading, gives what it gives as a whole.
void expect_same_in_parts(const LoopProgram& program, std::size_t programs,
                          const std::function<void(LoopBuffers&)>& prepare = {}) {
  const SplitLoop split = split_rows(program, {});
  ASSERT_EQ(split.programs.size(), programs) << to_string(program);
  LoopBuffers expected(program), actual(program);
  for (LoopBuffers* buffers : {&expected, &actual})
    if (prepare) prepare(*buffers);
  run_reference(program, expected.pointers());
  std::vector<void*> pointers = actual.pointers();
  std::vector<std::vector<std::byte>> scratch;
  for (const SplitLoop::Scratch& s : split.scratch)
    pointers.push_back(scratch.emplace_back(static_cast<std::size_t>(s.elements) * size_of(s.dtype)).data());
  for (const LoopProgram& part : split.programs) {
    verify(part);
    run_reference(part, pointers);
  }
  expect_close(actual, expected, program);
}

TEST(GpuLoopSplit, LongRowsGiveTheSameInParts) {
  LoopProgram means("means", {2, 3, 300, 400}, 2);
  const Reg x = means.prim(Prim::div, means.load(loop_cases::dense(means, 0)), means.count());
  const Reg found = means.reduce(Reduce::any, means.prim(Prim::gt, x, means.constant(1e-6)));
  means.store({1, DType::f32, {3, 1, 0, 0}}, means.reduce(Reduce::sum, x));
  means.store({2, DType::boolean, {3, 1, 0, 0}}, found);
  expect_same_in_parts(means, 3);
  expect_same_in_parts(loop_cases::padded_nhwc(260, 256, 1), 4);
  // What lies around a maximum or a mean is summed in the walk that finds these: parts, rows, elements.
  expect_same_in_parts(loop_cases::softmax(1, 70000), 3);
  expect_same_in_parts(loop_cases::layer_norm(3, 80000), 3);
  expect_same_in_parts(loop_cases::normed_embedding(2, 70000), 3, loop_cases::indices_below(20));
}

TEST(GpuLoopSplit, PartsOfNumbersOfAnySizeGiveTheSame) {
  constexpr std::int64_t length = 1 << 16;
  const float infinity = INFINITY;
  const std::vector<std::function<float(std::int64_t)>> rows = {
      [](std::int64_t i) { return i == 0 ? 1e4F : static_cast<float>(i % 7); },
      [](std::int64_t i) { return 1e4F + static_cast<float>(i % 8); },
      [](std::int64_t) { return 3.3F; },
      [](std::int64_t i) { return static_cast<float>(i) * 1e-2F; },
      [](std::int64_t i) { return static_cast<float>(length - i); },
      [=](std::int64_t) { return -infinity; },
      [=](std::int64_t i) { return i < length / 2 ? -infinity : static_cast<float>(i % 5); },
      [=](std::int64_t i) { return i == length - 1 ? 2 : -infinity; },
      [=](std::int64_t i) { return i == 5 ? infinity : 1; },
      [](std::int64_t i) { return i == length / 2 ? NAN : 1; },
      [](std::int64_t i) { return i % 3 == 0 ? 3e15F : -3e15F; }};
  const auto count = static_cast<std::int64_t>(rows.size());
  for (const LoopProgram& program :
       {loop_cases::softmax(count, length), loop_cases::layer_norm(count, length)})
    expect_same_in_parts(program, 3, [&](LoopBuffers& buffers) {
      for (std::int64_t i = 0; i < count * length; ++i)
        buffers.as<float>(0)[static_cast<std::size_t>(i)] =
            rows[static_cast<std::size_t>(i / length)](i % length);
      std::ranges::fill(buffers.as<float>(1), 0.0F);  // what layer_norm adds
    });
}

TEST(GpuLoopSplit, OthersStayWhole) {
  const auto is_split = [](const LoopProgram& p) { return !split_rows(p, {}).programs.empty(); };
  EXPECT_TRUE(is_split(loop_cases::softmax(8, 1 << 17)));
  EXPECT_TRUE(is_split(loop_cases::softmax(800, 1 << 17)));  // read twice, not three times
  LoopProgram sums("sums", {800, 1 << 17}, 1);
  sums.store({1, DType::f32, {1, 0}}, sums.reduce(Reduce::sum, sums.load(loop_cases::dense(sums, 0))));
  EXPECT_FALSE(is_split(sums));
  EXPECT_FALSE(is_split(loop_cases::softmax(8, 1000)));
  EXPECT_FALSE(is_split(loop_cases::softmax(8, 100003)));  // a prime
  EXPECT_FALSE(is_split(loop_cases::extremes(1 << 17)));
  EXPECT_FALSE(is_split(loop_cases::add_relu(1 << 20)));
}

/// A program with every primitive of floats, and what base/scalar.h says they give.
template <class T>
void expect_primitives(DType type, int wave) {
  const std::vector<T> numbers = {
      0,       T(-0.0), 1,   -1,  T(0.5), T(-0.5), T(1.5),   T(2.5),      T(-2.5),   3,   -3,      T(0.3),
      T(-7.7), 20,      -20, 100, -100,   T(1e30), T(-1e30), T(INFINITY), -INFINITY, NAN, T(1e-30)};
  const auto n = static_cast<std::int64_t>(numbers.size());
  LoopProgram p("prims", {n, n});
  const Reg a = p.load({0, type, {1, 0}});
  const Reg b = p.load({1, type, {0, 1}});
  std::vector<PrimInfo> rows;
  for (const PrimInfo& row : prim_table) {
    if (row.kind == PrimKind::bits || row.kind == PrimKind::select || row.kind == PrimKind::cast) continue;
    rows.push_back(row);
    const Reg y = row.arity == 1 ? p.prim(row.prim, b) : p.prim(row.prim, a, b);
    p.store({static_cast<int>(rows.size()) + 1, p.type_of(y), {n, 1}}, y);
  }
  Kernels sources;
  const Launchable loop = prepare(sources, p);
  const EmulatedKernels kernels = sources.compile(wave);
  ASSERT_TRUE(kernels.ok());
  LoopBuffers buffers(p);
  for (const std::size_t operand : {0, 1})
    std::copy(numbers.begin(), numbers.end(), buffers.as<T>(operand).begin());
  Fault fault;
  loop.run(kernels, buffers, fault);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < n * n; ++i) {
      const T x = numbers[static_cast<std::size_t>(i / n)], y = numbers[static_cast<std::size_t>(i % n)];
      const T expected = rows[r].arity == 1 ? apply<T>(rows[r].prim, y) : apply<T>(rows[r].prim, x, y);
      const Number actual = buffers.at(r + 2, i);
      if (rows[r].kind == PrimKind::test) {
        EXPECT_EQ(actual.whole, expected != 0) << rows[r].name << "(" << x << ", " << y << ")";
      } else if (!std::isnan(actual.real) || !std::isnan(expected)) {
        EXPECT_EQ(actual.real, static_cast<double>(expected)) << rows[r].name << "(" << x << ", " << y << ")";
      }
    }
}

TEST(GpuLoopPrims, MeanWhatTheScalarTableSays) {
  expect_primitives<float>(DType::f32, 32);
  expect_primitives<double>(DType::f64, 32);
}

TEST_P(GpuLoop, ReportsAWrongIndex) {
  Kernels sources;
  const std::vector<Launchable> loops = {
      prepare(sources, loop_cases::rows_by_index(300, 16, {.from_end = true})),
      prepare(sources, loop_cases::elements_by_index(50, 300, 7))};
  const EmulatedKernels kernels = sources.compile(GetParam());
  ASSERT_TRUE(kernels.ok());
  for (const Launchable& loop : loops)
    for (const std::int64_t wrong : {7, -8}) {
      LoopBuffers buffers(loop.program);
      loop_cases::indices_below(7)(buffers);
      Fault fault;
      loop.run(kernels, buffers, fault);
      EXPECT_EQ(fault.found, 0);
      buffers.as<std::int64_t>(0)[299] = wrong;
      loop.run(kernels, buffers, fault);
      EXPECT_EQ(fault.found, 1);
      EXPECT_EQ(fault.value, wrong);
      EXPECT_EQ(fault.detail, loop.program.name == "along" ? 7 : -7);
    }
}

/// i64 [rows, columns] divided by what the row, the column or the element has, and by a fold of the row.
std::vector<LoopProgram> divisions(std::int64_t rows, std::int64_t columns) {
  std::vector<LoopProgram> programs;
  for (const auto& strides : {std::vector<std::int64_t>{columns, 1}, {1, 0}, {0, 1}, {0, 0}}) {
    LoopProgram& p = programs.emplace_back("points", std::vector{rows, columns});
    const Reg x = p.load({0, DType::i64, {columns, 1}});
    p.store({2, DType::i64, {columns, 1}}, p.prim(Prim::floor_div, x, p.load({1, DType::i64, strides})));
  }
  for (const bool of_row : {false, true}) {
    LoopProgram& p = programs.emplace_back("rows", std::vector{rows, columns}, 1);
    const Reg sum = p.reduce(Reduce::sum, p.load({1, DType::i64, {columns, 1}}));
    if (of_row)
      p.store({2, DType::i64, {1, 0}}, p.prim(Prim::remainder, p.constant_int(1000), sum));
    else
      p.store({2, DType::i64, {columns, 1}}, p.prim(Prim::fmod, p.load({0, DType::i64, {columns, 1}}), sum));
  }
  return programs;
}

/// And nothing of what lies beyond the last element or row.
TEST_P(GpuLoop, ReportsADivisorOfZero) {
  Kernels sources;
  std::vector<Launchable> loops;
  for (const auto& [rows, columns] : {std::pair{9, 70}, {3, 1001}, {301, 5}})
    for (const LoopProgram& p : divisions(rows, columns)) loops.push_back(prepare(sources, p));
  const EmulatedKernels kernels = sources.compile(GetParam());
  ASSERT_TRUE(kernels.ok());
  for (const Launchable& loop : loops) {
    SCOPED_TRACE(loop.kernel);
    LoopBuffers buffers(loop.program);
    const auto divisors = buffers.as<std::int64_t>(1);
    std::fill(divisors.begin(), divisors.end(), 3);
    Fault fault;
    loop.run(kernels, buffers, fault);
    EXPECT_EQ(fault.found, 0);
    std::fill_n(divisors.rbegin(), loop.program.row_length(), 0);  // the last row, or element
    loop.run(kernels, buffers, fault);
    EXPECT_EQ(fault.found, 1);
    EXPECT_EQ(fault.value, 0);
    EXPECT_EQ(fault.detail, 0);
  }
}

TEST_P(GpuLoop, EpilogueTakesTheElementsOfAProduct) {
  constexpr std::int64_t M = 50;
  constexpr std::int64_t N = 90;
  LoopProgram p("epilogue", {M, N});
  const Reg biased = p.prim(Prim::add, p.tile(), p.load({0, DType::f32, {0, 1}}));
  const Reg scaled = p.prim(Prim::mul, biased, p.load({1, DType::f32, {1, 0}}));
  const Reg sum = p.prim(Prim::add, scaled, p.load({2, DType::f32, {N + 5, 1}}));
  p.store({3, DType::f32, {N, 1}}, sum);
  p.store({4, DType::f16, {N, 1}}, p.prim(Prim::max, sum, p.constant(0)));
  verify(p);
  const std::string caller = R"(
extern "C" __global__ void product(epilogue_tile tile) {
  const int i = blockIdx.x, j = threadIdx.x;
  epilogue(tile, Pieces<float, 4>::of(i, j, float(i * int(blockDim.x) + j - 1000)));
}
)";
  const std::string source =
      translation_unit(loop_header, tile_source(p.code, tile_form, "epilogue") + caller);
  const EmulatedKernels kernels(source, {"product"}, GetParam());
  ASSERT_TRUE(kernels.ok());
  LoopBuffers expected(p);
  LoopBuffers actual(p);
  std::vector<float> values(static_cast<std::size_t>(M * N));
  std::iota(values.begin(), values.end(), -1000.0f);
  run_reference(p, expected.pointers(), values.data());
  std::vector<std::byte> tile;  // the struct: pointers, then arguments
  const auto append = [&](const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    tile.insert(tile.end(), begin, begin + bytes);
  };
  for (void* const pointer : actual.pointers()) append(&pointer, sizeof pointer);
  const std::vector<std::byte> arguments = loop_arguments(p, tile_form);
  append(arguments.data(), arguments.size());
  void* parameters[] = {tile.data(), nullptr};
  kernels.launch("product", M, N, 0, parameters);
  expect_close(actual, expected, p);
}

}  // namespace
}  // namespace tenon::gpu
