// Groups lowered to loop programs: which code they have, and what does not change it.
#include "runtime/loop_builder.h"

#include "runtime/devices.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

/// The loop of the only node of a graph. Every value lies dense in a buffer of its own.
LoopProgram loop_of(const std::string& text) {
  const std::shared_ptr<Graph> graph = parse(text);
  const Group group(*graph->body().nodes().front());
  std::string why;
  const auto axes = find_loop_axes(group, why);
  if (!axes) throw std::runtime_error(why);
  const MemoryRules rules = find_device({.name = "cpu"}).memory;
  Buffers buffers(rules);
  std::unordered_map<const Value*, PlannedTensor> places;
  const auto place = [&](const Value* v) -> const PlannedTensor& {
    const auto [at, is_new] = places.try_emplace(v);
    if (is_new) {
      const std::size_t index = buffers.list().size();
      at->second = buffers.external(Buffer::Kind::input, index, v->dtype(), eval(v->shape(), {}));
    }
    return at->second;
  };
  return build_loop(group, *axes, place, [&](const Tensor& table) { return buffers.constant(table); })
      .program;
}

/// A layer norm of the sum of two tensors.
LoopProgram norm_of(std::int64_t rows, std::int64_t width) {
  const std::string x = fmt::format("f32[{},{}]", rows, width);
  return loop_of(fmt::format(R"(graph g(%x: {0}, %r: {0}, %w: f32[{1}]) {{
  %1 = fused {{ %a = add(%x, %r); %b = mean(%a, axes=[1], keepdim=true); sub(%a, %b); mul(_, %w) }} : {0}
  return %1
}}
)",
                             x, width));
}

TEST(Lower, OneCodeServesAllSizes) {
  const LoopProgram small = norm_of(3, 5), large = norm_of(64, 768);
  EXPECT_EQ(small.code, large.code) << to_string(small) << to_string(large);
  EXPECT_EQ(hash_of(small.code), hash_of(large.code));
  EXPECT_NE(small.shape, large.shape);
}

TEST(Lower, ABroadcastOperandIsOtherCode) { EXPECT_NE(norm_of(3, 5).code, norm_of(1, 5).code); }

}  // namespace
}  // namespace tenon::testing
