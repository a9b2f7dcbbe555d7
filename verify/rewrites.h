// The one rewrite that changes a result.
#pragma once
#include "fusion/fuse.h"
#include "runtime/device.h"
#include "verify/divergence.h"

namespace tenon {

/// What is fused and run: the pipeline and the device are those of the tool, or of a test.
struct FusionUnderTest {
  const Graph& imported;
  FuseOptions options;
  std::span<const Pass> passes = pipeline();
  const Device& device = cpu_device();
  int threads = 1;
};

struct WrongRewrite {
  Rewrite rewrite;
  int rewrites = 0;       // how many there are
  Difference difference;  // with it, from the imported graph in float64
  Difference before;      // with the rewrites before it alone
  Difference off;         // with its rule switched off
  bool right_when_off = false;
  std::size_t sample = 0;

  /// "rewrite 12 of 80 (fold_affine/batch_norm): ..."
  std::string str() const;
};

struct RewriteSearch {
  std::optional<WrongRewrite> wrong;
  std::string problem;  // why the search has no result: no output of a sample holds a number to compare
  std::optional<Difference>
      without_any;  // the result differs before the first rewrite: no rewrite is to blame
};

/// Applies more and fewer rewrites until one is left that makes the difference (Rewrite::number). Results are
/// those of the device, so a rewrite that leads to a wrong kernel is found as well; what is right is the
/// imported graph in float64. Where several are wrong, one of them is named.
RewriteSearch search_rewrites(const FusionUnderTest&, const std::vector<Inputs>& samples, const Tolerance&);

}  // namespace tenon
