#include "kernels/gpu/scan_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {
namespace {

std::int64_t up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

std::string running(const ScanForm& f) {
  const std::string_view type = computed(f.y);
  switch (f.scan) {
    case Scan::sum: return fmt::format("Running<{0}, FoldSum<{0}>>", type);
    case Scan::prod: return fmt::format("Running<{0}, FoldProd<{0}>>", type);
    case Scan::max: return fmt::format("RunningBest<{}, true>", type);
    case Scan::min: return fmt::format("RunningBest<{}, false>", type);
    case Scan::log_sum_exp: return fmt::format("RunningLogSumExp<{}>", type);
  }
  TENON_CHECK(false);
}

}  // namespace

bool ScanForm::by_blocks() const { return by_rows() && length > 512; }

std::int64_t ScanForm::parts() const {
  const std::int64_t lines = outer * inner;
  const std::int64_t enough = by_rows() ? up(512, lines) : up(std::int64_t{1} << 15, lines);
  const std::int64_t shortest = by_rows() ? 4096 : 64;
  return std::clamp<std::int64_t>(std::min(enough, length / shortest), 1, scan_threads);
}

std::array<std::int64_t, 5> ScanForm::fields() const {
  // Parts of rows begin at multiples of what a thread reads at once.
  return {outer, length, inner, parts(), up(up(length, parts()), 4) * 4};
}

std::int64_t ScanForm::grid(int wave) const {
  const std::int64_t lines = outer * inner * parts();
  return by_blocks() ? lines : up(lines, by_rows() ? scan_threads / wave : scan_threads);
}

std::string scan_source(const ScanForm& f) {
  const std::string_view x = storage(f.x), y = storage(f.y);
  const std::string walk = f.by_rows()
                               ? fmt::format("RowScan<R, {}, {}> walk(x, s, shared)", x, f.by_blocks())
                               : fmt::format("ColumnScan<R, {}> walk(x, s)", x);
  const std::string shared = f.by_rows() ? "  GPU_SHARED(R::Acc, shared, [scan_threads / wave_size]);\n" : "";
  const std::string begin = shared + "  " + walk + ";\n  if (!walk.exists()) return;\n";
  constexpr std::string_view global = "extern \"C\" __global__ void __launch_bounds__(256) ";
  return translation_unit(
      "kernels/gpu/scan.gpu.h",
      fmt::format("using R = {0};\n"
                  "{1}fold_parts(const {2}* x, void* folds, const ScanShape s) {{\n{3}"
                  "  walk.fold(static_cast<R::Acc*>(folds));\n}}\n"
                  "{1}scan(const {2}* x, const void* folds, {4}* y{5}, const ScanShape s) {{\n{3}"
                  "  walk.scan(static_cast<const R::Acc*>(folds), ScanTarget<{4}, {6}>{{y, {7}}});\n}}\n",
                  running(f), global, x, begin, y, f.has_places() ? ", Int* places" : "", f.has_places(),
                  f.has_places() ? "places" : "nullptr"));
}

}  // namespace tenon::gpu
