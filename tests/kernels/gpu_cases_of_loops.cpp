// Loops: each way of sharing points, and rows of every kind.
#include "kernels/gpu/hold_source.h"
#include "kernels/gpu/loop_faults.h"
#include "kernels/gpu/loop_source.h"
#include "tests/kernels/gpu_cases.h"

namespace tenon::gpu {
namespace {

constexpr GpuLimits two_processors{.processors = 2, .threads_per_processor = 512};

// Buffers as they are before the loop, and as they should be behind it.
void add_buffers(GpuCase& result, const LoopCase& c) {
  LoopBuffers before(c.program), after(c.program);
  for (LoopBuffers* buffers : {&before, &after})
    if (c.prepare) c.prepare(*buffers);
  run_reference(c.program, after.pointers());
  for (std::size_t i = 0; i < before.count(); ++i) {
    result.dtypes.push_back(before.dtype(i));
    const auto in = before.as<std::byte>(i), out = after.as<std::byte>(i);
    result.buffers.emplace_back(in.begin(), in.end());
    result.expected.emplace_back(out.begin(), out.end());
  }
}

GpuCase loop_case(const std::string& name, const LoopCase& c, const LoopForm* wanted = nullptr) {
  const LoopProgram program = arranged(c.program);
  const LoopForm form = wanted ? *wanted : loop_form(program, two_processors);
  const LoopLaunch launch = loop_launch(program, form, two_processors);
  GpuCase result{
      .name = "loop " + name,
      .launches = {{.source = translation_unit(loop_header, loop_source(program.code, form, "loop")),
                    .kernel = "loop",
                    .grid = {launch.grid, 1, 1},
                    .block = launch.block,
                    .shared_bytes = launch.shared_bytes,
                    .arguments = {loop_arguments(program, form)}}}};
  add_buffers(result, c);
  if (reports_faults(program.code)) {  // a Fault: three integers
    result.dtypes.push_back(DType::i64);
    result.buffers.push_back(bytes_of(std::vector<std::int64_t>(3)));
    result.expected.push_back(result.buffers.back());
  }
  return result;
}

// Several loops in one launch.
GpuCase joined_case(const std::string& name, const std::vector<LoopCase>& loops) {
  GpuCase result{.name = "loops " + name, .launches = {{.kernel = "loops"}}};
  GpuLaunch& launch = result.launches[0];
  std::vector<LoopPart> parts;
  std::vector<std::int64_t> ends;
  for (const LoopCase& c : loops) {
    const LoopProgram program = arranged(c.program);
    const LoopForm form = loop_form(program, two_processors);
    const LoopLaunch alone = loop_launch(program, form, two_processors);
    parts.push_back({program.code, form});
    launch.arguments.push_back(loop_arguments(program, form));
    launch.block = alone.block;
    ends.push_back((ends.empty() ? 0 : ends.back()) + alone.grid);
    add_buffers(result, c);
  }
  launch.source = translation_unit(loop_header, joined_source(parts, launch.kernel));
  launch.grid = {ends.back(), 1, 1};
  launch.arguments.push_back(bytes_of(ends));
  return result;
}

}  // namespace

std::vector<GpuCase> loop_gpu_cases() {
  const LoopForm short_rows{.group = RowGroup::lanes, .width = 8, .vector = 2, .chunks = 16, .keeps = true};
  const LoopForm wave_rows{.group = RowGroup::lanes, .width = 32, .vector = 4, .chunks = 2, .wide = true};
  const LoopForm block_rows{
      .group = RowGroup::block, .threads = 128, .width = 128, .vector = 8, .chunks = 1, .keeps = true};
  const LoopForm kept_by_a_wave{
      .group = RowGroup::lanes, .width = 32, .vector = 8, .chunks = 4, .keeps = true};
  const LoopForm long_rows{.group = RowGroup::block, .width = 256, .vector = 4, .chunks = 2};
  const LoopForm columns{.group = RowGroup::columns, .threads = 128, .width = 16, .chunks = 4};
  using namespace loop_cases;
  const std::int64_t nanoseconds = 5000;
  const auto* const time = reinterpret_cast<const std::byte*>(&nanoseconds);
  return {
      {.name = "hold",
       .launches = {{.source = hold_source(),
                     .kernel = hold_name,
                     .grid = {1, 1, 1},
                     .block = 1,
                     .arguments = {{time, time + sizeof nanoseconds}}}}},
      loop_case("add relu f32", {add_relu(5000)}),
      loop_case("add relu f16", {add_relu(5000, DType::f16)}),
      loop_case("broadcasts", {broadcasts({7, 9, 40})}),
      loop_case("permuted", {permuted_and_reversed()}),
      loop_case("transposed", {add_transposed(64, 128)}),
      loop_case("padded", {padded_nhwc(20, 16, 8)}),
      joined_case("of every form of points", {{add_relu(5000)},
                                              {broadcasts({7, 9, 40})},
                                              {permuted_and_reversed()},
                                              {add_relu(301, DType::f16)}}),
      loop_case("softmax short rows", {softmax(9, 32)}, &short_rows),
      loop_case("softmax rows of a wave", {softmax(9, 200, DType::f16)}, &wave_rows),
      loop_case("softmax rows kept by a wave f16", {softmax(70, 1000, DType::f16)}, &kept_by_a_wave),
      loop_case("softmax rows kept by a wave bf16", {softmax(70, 1001, DType::bf16)}, &kept_by_a_wave),
      loop_case("softmax long rows", {softmax(3, 9001)}, &long_rows),
      loop_case("softmax of columns", {softmax_of_columns(2, 17, 40)}, &columns),
      loop_case("layer norm short rows", {layer_norm(7, 70)}, &short_rows),
      loop_case("layer norm rows of a wave", {layer_norm(7, 70)}, &wave_rows),
      loop_case("layer norm rows of a block", {layer_norm(9, 1000)}, &block_rows),
      loop_case("layer norm rows kept by a wave", {layer_norm(9, 1000)}, &kept_by_a_wave),
      loop_case("layer norm long rows", {layer_norm(2, 9001)}, &long_rows),
      loop_case("every reduction f32", {every_reduction(5, 70, DType::f32, false)}),
      loop_case("every reduction of columns", {every_reduction(5, 70, DType::f32, false)}, &columns),
      loop_case("embedding", {rows_by_index(30, 64, {}), indices_below(7)}),
      loop_case("embedding f16 i32",
                {rows_by_index(40, 33, {.dtype = DType::f16, .index = DType::i32}), indices_below(7)}),
      loop_case("elements by index", {elements_by_index(50, 130, 11), indices_below(11)}),
      loop_case("normed embedding", {normed_embedding(20, 40), indices_below(20)}),
      loop_case("primitives of i64", {every_primitive(DType::i64)}),
  };
}

}  // namespace tenon::gpu
