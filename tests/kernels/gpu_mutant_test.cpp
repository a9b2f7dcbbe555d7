// A mistake in a kernel is found: each of these changes of the kernels' texts, by the tool that is named.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/kernels/emulated_launch.h"

namespace tenon::gpu {
namespace {

struct Mutant {
  std::string name;      // what is wrong
  std::string launch;    // the case of gpu_cases.h
  std::string from, to;  // the first place of this text becomes another
  Tool tool = Tool::plain;
  int wave = 32;
  std::string behind = {};  // the place lies behind this text
  bool in_random_order = false;

  friend void PrintTo(const Mutant& m, std::ostream* out) { *out << m.name; }
};

constexpr char copies_wait[] = "wait_for_copies<stages - 2>();",
               block_values[] = "GPU_INLINE typename Fold::Acc over_block",
               column_values[] = "GPU_INLINE typename Fold::Acc over_columns", barrier[] = "__syncthreads();";

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = {
      // Barriers.
      {"tile is read before it is written", "product of odd sizes f32", barrier, "", Tool::thread, 32,
       copies_wait},
      {"slabs are written while the tile is read", "product of odd sizes f32", barrier, "", Tool::thread, 32,
       "stage = next(stage);"},
      {"slab is read before it is written", "product of odd sizes f32", "wave_barrier();", "", Tool::thread,
       32, "void for_each_value"},
      {"slab is overwritten while it is read", "product of odd sizes f32", "wave_barrier();", "",
       Tool::thread, 32, "slab[row * Tile::slab_stride + column]);"},
      {"copies are not waited for", "product of whole tiles f16", copies_wait, ""},
      {"copies are waited for too late", "product of tiles 64x64 f16", copies_wait,
       "wait_for_copies<stages - 1>();"},
      {"tile is read early in random order", "product of odd sizes f32", barrier, "", Tool::plain, 32,
       copies_wait, true},
      {"part is read early in random order", "loop layer norm rows of a block", barrier, "", Tool::plain, 32,
       block_values, true},
      {"columns are read early in random order", "loop softmax of columns", barrier, "", Tool::plain, 64,
       column_values, true},
      {"part is read before it is written", "loop layer norm rows of a block", barrier, "", Tool::thread, 32,
       block_values},
      {"part is overwritten while it is read", "loop layer norm rows of a block", barrier, "", Tool::thread,
       32, "acc = Fold::combine(acc, part[wave])"},
      {"columns are read before they are written", "loop softmax of columns", barrier, "", Tool::thread, 32,
       column_values},
      {"columns are overwritten while they are read", "loop softmax of columns", barrier, "", Tool::thread,
       32, "part[other * Columns + column])"},
      {"row stores of every lane", "loop every reduction f32", "live && lane == 0", "live", Tool::thread},
      // Parts of tiles that blocks share.
      {"parts are not fenced", "product in parts f32", "device_fence();\n  __syncthreads();",
       "__syncthreads();", Tool::thread},
      {"parts are read without a fence", "product in parts f32", "if (is_last[0]) device_fence();", "",
       Tool::thread},
      {"ticket is taken before the block is done", "product in parts f32", barrier, "", Tool::thread, 32,
       "bool arrives_last"},
      {"every block is the last", "product in parts f32", "== others;", "<= others;", Tool::thread},
      {"first block is the last", "product in parts f32", "== others;", "== 0;"},
      {"ticket is not given back", "product in parts f32", "atomicInc(ticket, others)",
       "atomicAdd(ticket, 1u)"},
      {"part of a block too few", "product in ragged parts f32", "other <= last", "other < last"},
      {"parts lie over each other", "product streamed f32", "(sharer + tile) * Held", "sharer * Held"},
      {"memory of a tile is taken for the next too early", "product streamed f32", barrier, "", Tool::thread,
       32, "at += last - first;"},
      // Bounds.
      {"product reads past its depth", "product of odd sizes f32", "depths - k}", "depths - k + 1}",
       Tool::address},
      {"product reads past its rows", "product of odd sizes f32", "left > 1024 ? 1024 : int(left)", "1024",
       Tool::address},
      {"product writes past its rows", "product of odd sizes f32", "row + i < rows && ", "", Tool::address},
      {"product writes past its columns", "product of odd sizes f32", " && column + j < columns", "",
       Tool::address},
      {"tile is too small", "product of odd sizes f32", "[(bytes + 15) / 16]", "[bytes / 32]", Tool::address},
      {"convolution reads before the image", "convolution 3x3 f32",
       "if (at_d < 0 || at_h < 0 || at_w < 0) return nullptr;", "", Tool::address},
      {"convolution reads past the image", "convolution 3x3 f32", "return at < int(axis.in) ? at : -1",
       "return at"},
      {"convolution has more pixels", "convolution 3x3 f16", "pixel < lines}", "true}", Tool::address},
      {"transposed convolution between strides", "convolution transposed f32",
       "if (at % int(axis.stride) != 0) return -1;", ""},
      {"pool reads before the image", "pool max f32", "first < 0 ?", "false ?", Tool::address},
      {"pool reads past the image", "pool mean f32", "left < inside ?", "true ?", Tool::address},
      {"pool writes past the end", "pool mean f16", "if (index < s.images", "if (true || index < s.images",
       Tool::address},
      {"loop reads past a row's end", "loop layer norm rows of a wave", "to[v] = v < valid ? from[v] : T{}",
       "to[v] = from[v]", Tool::address},
      {"loop writes past a row's end", "loop layer norm rows of a wave", "if (v < valid) to[v] = from[v];",
       "to[v] = from[v];", Tool::address},
      {"loop has more rows", "loop layer norm rows of a wave", "row < Index(a.rows)", "row <= Index(a.rows)",
       Tool::address},
      {"pieces at odd addresses", "loop layer norm rows of a wave",
       "if (pieces && valid == Count) return read_pieces", "if (valid == Count) return read_pieces",
       Tool::address},
      // Waves.
      {"wrong lane of a shuffle", "loop softmax rows of a wave", "shuffle_xor(acc, mask)",
       "shuffle_xor(acc, mask ^ 1)"},
      {"waves of 32 in shuffles", "loop layer norm rows of a block", "over_lanes<Fold, wave_size>",
       "over_lanes<Fold, 32>", Tool::plain, 64},
      {"waves of 32 in shared memory", "loop layer norm rows of a block",
       "threadIdx.x % wave_size == 0) part[threadIdx.x / wave_size]",
       "threadIdx.x % 32 == 0) part[threadIdx.x / 32]", Tool::plain, 64},
      {"waves of 32 in a count", "loop layer norm rows of a block", "wave < Threads / wave_size",
       "wave < Threads / 32", Tool::plain, 64},
      {"waves of 32 in columns", "loop softmax of columns", "mask < wave_size; mask *= 2",
       "mask < 32; mask *= 2", Tool::plain, 64},
      // Blocks.
      {"blocks of a pool overlap", "pool mean f32", "Int(blockIdx.x) * 256", "Int(blockIdx.x) * 250",
       Tool::thread},
      {"batch starts at the wrong place", "product of batches f32", "rest /= a.batch_size1",
       "rest /= a.batch_size0"},
  };
  return all;
}

GpuCase find_case(const std::string& name) {
  static const std::vector<GpuCase> cases = all_gpu_cases();
  for (const GpuCase& c : cases)
    if (c.name == name) return c;
  throw std::out_of_range("no case " + name);
}

GpuCase mutated(const Mutant& m) {
  GpuCase result = find_case(m.launch);
  const std::size_t behind = result.source.find(m.behind);
  const std::size_t at = behind == std::string::npos ? behind : result.source.find(m.from, behind);
  EXPECT_NE(at, std::string::npos) << "the kernel has changed: there is no more '" << m.from << "' in "
                                   << m.launch;
  if (at != std::string::npos) result.source.replace(at, m.from.size(), m.to);
  return result;
}

// What the tool says of a mistake, never what a compiler says of a text.
std::string sign_of(Tool tool) {
  return tool == Tool::address  ? "AddressSanitizer|runtime error"
         : tool == Tool::thread ? "data race"
                                : "instead of";
}

class GpuMutant : public ::testing::TestWithParam<Mutant> {};

TEST_P(GpuMutant, IsFound) {
  const Mutant& m = GetParam();
  const GpuCase c = mutated(m);
  EmulatedLaunch launch(c, m.tool, m.wave);
  std::string said = launch.run(m.in_random_order ? 1 : 0);
  for (int order = 2; m.in_random_order && said.empty() && order < 5; ++order) said = launch.run(order);
  EXPECT_TRUE(std::regex_search(said, std::regex(sign_of(m.tool)))) << "it survives: " << said;
}

INSTANTIATE_TEST_SUITE_P(All, GpuMutant, ::testing::ValuesIn(mutants()), [](const auto& test) {
  std::string name;
  for (const char c : test.param.name)
    if (c != '\'') name += c == ' ' ? '_' : c;
  return name;
});

/// The tools find nothing in what is right.
class GpuTool : public ::testing::TestWithParam<Tool> {};

TEST_P(GpuTool, IsSilentOnARightKernel) {
  for (const std::string name : {"product of odd sizes f32", "product in parts f32", "product streamed f32",
                                 "loop layer norm rows of a block", "loop softmax of columns"}) {
    const GpuCase c = find_case(name);
    EXPECT_EQ(EmulatedLaunch(c, GetParam(), 32).run(), "") << name;
  }
}

// How many different results a launch has whose blocks run in several orders.
std::size_t count_results(const GpuCase& c) {
  EmulatedLaunch launch(c, Tool::plain, 32);
  std::set<std::vector<std::byte>> results;
  for (int order = 0; order < 6; ++order) {
    EXPECT_EQ(launch.run(order), "") << "in order " << order;
    results.insert(launch.results().back());
  }
  return results.size();
}

TEST(GpuParts, AreAddedInTheOrderOfTheDepth) {
  EXPECT_EQ(count_results(find_case("product in parts f32")), 1U);
  EXPECT_EQ(count_results(find_case("product streamed f32")), 1U);
}

TEST(GpuParts, AddedInTheOrderOfBlocksGiveOtherBits) {
  GpuCase c = find_case("product in parts f32");
  for (const auto& [from, to] :
       {std::pair{"Held::clear(sum);", ""}, {"Held::add(parts", "if (other != sharer) Held::add(parts"}}) {
    const std::size_t at = c.source.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    c.source.replace(at, std::string(from).size(), to);
  }
  EXPECT_GT(count_results(c), 1U);
}

INSTANTIATE_TEST_SUITE_P(All, GpuTool, ::testing::Values(Tool::plain, Tool::address, Tool::thread));

}  // namespace
}  // namespace tenon::gpu
