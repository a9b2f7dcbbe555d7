// Attention: each dtype, tiles and rows, masks of each kind, sizes that fill tiles and sizes that do not.
#include <cmath>

#include "kernels/gpu/attention_source.h"
#include "tests/kernels/gpu_cases.h"

namespace tenon::gpu {
namespace {

constexpr long batch = 2;

struct Heads {
  long of_queries = 2, of_keys = 2;
};
struct Scores {
  float softcap = 0;
  bool has_sink = false;
};
constexpr Scores beside_sink{0.5F, true};

std::int64_t elements(long heads, long rows, long size) { return batch * heads * rows * size; }

double lowest(DType dtype) {
  return dtype == DType::f16 ? -65504 : dtype == DType::bf16 ? -3.3895e38 : -3.4028e38;
}

// What the mask adds to a score.
double added(const GpuCase& c, const AttentionProgram& p, std::int64_t row, std::int64_t key) {
  if (!p.mask) return 0;
  const Number mask = read_number(c.buffers[3].data(), *p.mask, row * p.shape.keys + key);
  return is_bool(*p.mask) ? mask.whole != 0 ? 0 : -INFINITY : mask.real;
}

// The result's rows, in double precision.
void compute(GpuCase& c, const AttentionProgram& p) {
  const AttentionShape& s = p.shape;
  const auto at = [&](std::size_t buffer, std::int64_t i) {
    return read_number(c.buffers[buffer].data(), p.dtype, i).real;
  };
  const double cap = static_cast<double>(s.softcap);
  for (std::int64_t row = 0; row < batch * s.heads * s.queries; ++row) {
    const std::int64_t head = row / s.queries / (s.heads / s.kv_heads), query = row % s.queries;
    std::vector<double> weights(static_cast<std::size_t>(s.keys));
    double sum = 0, highest = -INFINITY;
    for (std::int64_t key = 0; key < s.keys; ++key) {
      double product = 0;
      for (std::int64_t e = 0; e < s.size; ++e)
        product += at(0, row * s.size + e) * at(1, (head * s.keys + key) * s.size + e);
      // In float32, where the lowest number takes all of a score.
      product *= static_cast<double>(s.scale);
      if (cap > 0) product = cap * std::tanh(product / cap);
      const auto score = static_cast<float>(product + added(c, p, query, key));
      const bool sees = !s.causal || key <= query;
      weights[static_cast<std::size_t>(key)] = sees ? static_cast<double>(score) : -INFINITY;
      highest = std::max(highest, weights[static_cast<std::size_t>(key)]);
    }
    for (double& weight : weights) sum += weight = highest == -INFINITY ? 0 : std::exp(weight - highest);
    if (p.has_sink) sum += std::exp(at(c.buffers.size() - 2, row / s.queries % s.heads) - highest);
    for (std::int64_t e = 0; e < s.value_size; ++e) {
      double value = 0;
      for (std::int64_t key = 0; key < s.keys; ++key)
        value += weights[static_cast<std::size_t>(key)] * at(2, (head * s.keys + key) * s.value_size + e);
      write_number(c.expected.back().data(), p.dtype, row * s.value_size + e,
                   {.real = sum > 0 ? value / sum : 0});
    }
  }
}

GpuCase attention_case(const std::string& name, DType dtype, long queries, long keys, long size,
                       long value_size, std::optional<DType> mask = {}, bool causal = false,
                       int processors = 1, const MatrixUnits& units = GpuLimits().units,
                       const Heads& heads = {}, const Scores& scores = {}) {
  AttentionProgram p{.shape = {.batch = batch,
                               .heads = heads.of_queries,
                               .kv_heads = heads.of_keys,
                               .queries = queries,
                               .keys = keys,
                               .size = size,
                               .value_size = value_size,
                               .scale = 0.25F,
                               .softcap = scores.softcap,
                               .causal = causal},
                     .dtype = dtype,
                     .mask = mask,
                     .has_sink = scores.has_sink};
  const auto dense = [](long of, long rows, long row) {
    return HeadStrides{of * rows * row, rows * row, row};
  };
  p.q = dense(heads.of_queries, queries, size);
  p.k = dense(heads.of_keys, keys, size);
  p.v = dense(heads.of_keys, keys, value_size);
  p.out = dense(heads.of_queries, queries, value_size);
  if (mask) p.mask_strides = {0, 0, keys}, p.mask_key = 1;
  const GpuLimits few{.processors = processors, .units = units};  // one: large tiles keep it busy
  AttentionKernel kernel = attention_kernel(p, few);
  GpuCase result{.name = "attention " + name,
                 .launches = {{.source = std::move(kernel.source),
                               .kernel = "attention",
                               .grid = {kernel.grid, 1, 1},
                               .block = kernel.block,
                               .block_grows = !kernel.tiling.starts_with("of rows"),
                               .arguments = {std::move(kernel.arguments)}}},
                 .buffers = {random_buffer(dtype, elements(heads.of_queries, queries, size), 3),
                             random_buffer(dtype, elements(heads.of_keys, keys, size), 4),
                             random_buffer(dtype, elements(heads.of_keys, keys, value_size), 5)},
                 .dtypes = {dtype, dtype, dtype},
                 .tolerance = dtype == DType::f32   ? 2e-5
                              : dtype == DType::f16 ? 4e-3
                                                    : 3e-2,
                 .of_warpgroups = kernel.tiling.ends_with(" wgmma")};
  if (mask) {
    result.buffers.push_back(random_buffer(*mask, queries * keys, 6));
    if (!is_bool(*mask))  // the first query sees no key, by the lowest number
      for (std::int64_t i = 0; i < keys; ++i)
        write_number(result.buffers[3].data(), *mask, i, {.real = lowest(*mask)});
    if (is_bool(*mask))
      for (std::int64_t i = 0; i < queries * keys; ++i)
        write_number(result.buffers[3].data(), *mask, i, {.whole = i % 3 != 0 && i >= keys});
    result.dtypes.push_back(*mask);
  }
  if (p.has_sink) {
    result.buffers.push_back(random_buffer(dtype, heads.of_queries, 8));
    result.dtypes.push_back(dtype);
  }
  if (kernel.part_floats > 0) {
    result.buffers.push_back(random_buffer(DType::f32, kernel.part_floats, 7));
    result.dtypes.push_back(DType::f32);
    result.expected = result.buffers;
    result.expected.back().clear();
    return result;
  }
  result.buffers.push_back(random_buffer(dtype, elements(heads.of_queries, queries, value_size), 7));
  result.dtypes.push_back(dtype);
  result.expected = result.buffers;
  compute(result, p);
  return result;
}

/// The second kernel of attention in parts: what blocks found becomes the result.
GpuCase join_case(const std::string& name, DType dtype, const Scores& scores = {}) {
  constexpr long size = 64, keys = 1024;
  GpuCase c = attention_case(name, dtype, 1, keys, size, size, {}, false, 8, GpuLimits().units, {}, scores);
  const std::int64_t rows = batch * Heads().of_queries, parts = 4, floats = size + 2;
  std::vector<std::byte> numbers = random_buffer(DType::f32, rows * parts * floats, 8);
  const auto at = [&](std::int64_t i) { return read_number(numbers.data(), DType::f32, i).real; };
  for (std::int64_t p = 0; p < rows * parts; ++p)  // weights are positive
    write_number(numbers.data(), DType::f32, p * floats + 1, {.real = 1 + std::fabs(at(p * floats + 1))});
  GpuLaunch& launch = c.launches[0];
  launch.kernel = "join";
  launch.grid = {rows, 1, 1};
  launch.block = AttentionKernel::join_threads;
  const std::vector<std::byte> sinks = random_buffer(dtype, Heads().of_queries, 10);
  c.buffers = {numbers};
  c.dtypes = {DType::f32};
  if (scores.has_sink) c.buffers.push_back(sinks), c.dtypes.push_back(dtype);
  c.buffers.push_back(random_buffer(dtype, rows * size, 9));
  c.dtypes.push_back(dtype);
  c.expected = c.buffers;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t e = 0; e < size; ++e) {
      const std::int64_t head = row % Heads().of_queries;
      double weights = scores.has_sink ? std::exp(read_number(sinks.data(), dtype, head).real) : 0, value = 0;
      for (std::int64_t p = row * parts; p < (row + 1) * parts; ++p) {
        const double share = std::exp2(at(p * floats));
        weights += share * at(p * floats + 1);
        value += share * at(p * floats + 2 + e);
      }
      write_number(c.expected.back().data(), dtype, row * size + e, {.real = value / weights});
    }
  return c;
}

}  // namespace

std::vector<GpuCase> attention_gpu_cases() {
  std::vector<GpuCase> cases;
  for (const auto& [type, dtype] :
       {std::pair{"f32", DType::f32}, {"f16", DType::f16}, {"bf16", DType::bf16}}) {
    const std::string suffix = std::string(" ") + type;
    cases.push_back(attention_case("of whole tiles" + suffix, dtype, 64, 64, 64, 64));
    cases.push_back(attention_case("of odd sizes" + suffix, dtype, 35, 50, 21, 37, DType::boolean));
    cases.push_back(attention_case("of long rows" + suffix, dtype, 20, 40, 128, 128, dtype, true));
    cases.push_back(attention_case("of two units of rows" + suffix, dtype, 150, 130, 64, 50, {}, true));
    cases.push_back(attention_case("of one query" + suffix, dtype, 1, 77, 64, 64, DType::f32));
    cases.push_back(attention_case("of three queries" + suffix, dtype, 3, 20, 24, 40, {}, true));
    const auto shared = [&](const char* name, long queries, long size, const MatrixUnits& units) {
      cases.push_back(
          attention_case(name + suffix, dtype, queries, 40, size, size, {}, false, 1, units, {4, 2}));
    };
    shared("of shared heads", 20, 32, GpuLimits().units);
    shared("of one query of shared heads", 1, 32, GpuLimits().units);
    cases.push_back(attention_case("of one query in parts" + suffix, dtype, 1, 1030, 64, 64, {}, false, 8));
    cases.push_back(join_case("that joins parts" + suffix, dtype));
    cases.push_back(join_case("that joins parts beside a sink" + suffix, dtype, beside_sink));
    for (const auto& [name, queries] :
         {std::pair{"of tiles beside a sink", 20}, {"of one query beside a sink", 1}})
      cases.push_back(attention_case(name + suffix, dtype, queries, 40, 32, 32, DType::boolean, false, 1,
                                     GpuLimits().units, {4, 2}, beside_sink));
    if (dtype == DType::f32) continue;
    const MatrixUnits hopper{dtype == DType::f16 ? MatrixUnit::wgmma_f16 : MatrixUnit::wgmma_bf16};
    cases.push_back(attention_case("of warpgroups" + suffix, dtype, 256, 192, 64, 64, {}, false, 1, hopper));
    cases.push_back(attention_case("of warpgroups with a mask" + suffix, dtype, 150, 130, 64, 50, dtype, true,
                                   1, hopper));
    shared("of warpgroups of shared heads", 64, 64, hopper);
    cases.push_back(attention_case("of warpgroups beside a sink" + suffix, dtype, 64, 64, 64, 64, {}, true, 1,
                                   hopper, {4, 2}, beside_sink));
  }
  return cases;
}

}  // namespace tenon::gpu
