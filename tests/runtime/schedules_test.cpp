// By whatever schedule a plan's kernels run, its results are the interpreter's.
#include <algorithm>

#include "runtime/planner.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

struct Row {
  const char* what;
  const char* graph;
};

constexpr Row rows[] = {
    {"a product of few rows", R"(graph g(%x: f32[3,70]) {
  @w : f32[200,70]
  @b : f32[200]
  %1 = fused linear(%x, @w, @b) { gelu } : f32[3,200]
  return %1
}
)"},
    {"a product deeper than a block", R"(graph g(%x: f32[37,4200], %r: f32[37,65]) {
  @w : f32[65,4200]
  %1 = fused linear(%x, @w) { add(_, %r); relu } : f32[37,65]
  return %1
}
)"},
    {"a batch of products", R"(graph g(%x: f32[5,33,20], %y: f32[5,20,96]) {
  %1 = matmul(%x, %y) : f32[5,33,96]
  return %1
}
)"},
    {"convolutions", R"(graph g(%x: f32[2,16,13,40]) {
  @a : f32[33,16,3,3]
  @b : f32[20,33,1,1]
  @c : f32[20,1,3,3]
  @d : f32[20,6,2,2]
  %1 = fused conv(%x, @a, pad=1) { relu } : f32[2,33,13,40]
  %2 = conv(%1, @b) : f32[2,20,13,40]
  %3 = conv(%2, @c, pad=1, groups=20) : f32[2,20,13,40]
  %4 = conv_transpose(%3, @d, stride=2) : f32[2,6,26,80]
  return %4
}
)"},
    {"a convolution of wide taps", R"(graph g(%x: f32[1,16,9,9]) {
  @a : f32[32,16,3,3]
  %1 = conv(%x, @a, pad=4, dilation=4) : f32[1,32,9,9]
  return %1
}
)"},
    {"rows of loops", R"(graph g(%x: f32[7,5,1100]) {
  @w : f32[1100]
  %1 = softmax(%x, axis=2) : f32[7,5,1100]
  %2 = layer_norm(%1, @w, @w) : f32[7,5,1100]
  %3 = sum(%2, axes=0) : f32[5,1100]
  %4 = permute(%2, axes=[2,0,1]) : f32[1100,7,5]
  %5 = exp(%4) : f32[1100,7,5]
  return %3, %5
}
)"},
    {"a product by codes", R"(graph g(%x: f32[37,160], %y: f32[2,160]) {
  @w : i8[200,160]
  @b : f32[200]
  %1 = cast(@w) : f32[200,160]
  %2 = mul(%1, 0.01) : f32[200,160]
  %3 = linear(%x, %2, @b) : f32[37,200]
  %4 = linear(%y, %2) : f32[2,200]
  return %3, %4
}
)"},
    {"convolutions of bytes", R"(graph g(%x: f32[2,8,10,14]) {
  @w : i8[32,8,3,3]
  @d : i8[8,1,3,3]
  %1 = fused { div(%x, 0.03125); round; clamp(_, min=-128.0, max=127.0); mul(_, 0.03125) } : f32[2,8,10,14]
  %2 = fused { cast(@w); mul(_, 0.03125) } : f32[32,8,3,3]
  %3 = conv(%1, %2, pad=1) : f32[2,32,10,14]
  %4 = fused { cast(@d); mul(_, 0.03125) } : f32[8,1,3,3]
  %5 = conv(%1, %4, pad=1, groups=8) : f32[2,8,10,14]
  return %3, %5
}
)"},
    {"attention", R"(graph g(%q: f32[1,3,230,20], %k: f32[1,3,50,20], %v: f32[1,3,50,20]) {
  %1 = attention(%q, %k, %v) : f32[1,3,230,20]
  return %1
}
)"},
};

// Setting i of each candidate's, of those that are taken in this turn.
TEST(Schedules, ChangeNoResult) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const auto graph = graph_of(row.graph);
    const auto inputs = inputs_of(*graph, {});
    const auto expected = evaluate(*graph, inputs);
    for (const int threads : {1, 2, 3}) {
      std::size_t candidates_seen = 1, settings_seen = 1;
      for (std::size_t turn = 0; turn < candidates_seen; ++turn)
        for (std::size_t setting = 0; setting < settings_seen; ++setting) {
          Session session(graph, {.threads = threads,
                                  .choose = [&](const Group&, std::span<const CandidateInfo> candidates) {
                                    const std::size_t taken = turn % candidates.size();
                                    const auto settings = candidates[taken].knobs.settings(threads);
                                    candidates_seen = std::max(candidates_seen, candidates.size());
                                    settings_seen = std::max(settings_seen, settings.size());
                                    if (settings.empty()) return Decision{taken, "its turn"};
                                    return Decision{taken, "its turn", settings[setting % settings.size()]};
                                  }});
          const auto got = session.run(inputs);
          constexpr double winograd = 2e-4;  // F(6,3) is ten times as far off as a product
          for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i], winograd);
          if (HasFailure()) FAIL() << session.plan_for(inputs)->text();
        }
      EXPECT_GT(settings_seen, 1U);
    }
  }
}

}  // namespace
}  // namespace tenon::testing
