// Times loops on all threads of a pool; the fastest of many runs is the one nobody disturbed.
#include "kernels/cpu/peak.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "kernels/cpu/peak_loops.h"

namespace tenon::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// Floats for each thread: half of an L2, more than one, and (in all) far beyond a last-level cache.
constexpr long l2_floats = 64 << 10;
constexpr long l3_floats = 1 << 20;
long memory_floats(const ThreadPool& pool) { return std::min(16L << 20, (512L << 20) / pool.threads()); }
constexpr double seconds_each = 0.1, seconds_of_other_arithmetic = 0.05;
constexpr int least_runs = 3;

/// The best rate of body(worker's number) on every thread at once; it returns what it did, 0 where it cannot.
double best_rate(ThreadPool& pool, FunctionRef<double(long)> body, double seconds = seconds_each) {
  const ThreadPool::Run spinning(pool);
  double best = 0;
  const auto begin = Clock::now();
  const auto seconds_since = [](Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
  };
  for (int run = 0; run < least_runs || seconds_since(begin) < seconds; ++run) {
    std::vector<double> done(static_cast<std::size_t>(pool.threads()));
    const auto start = Clock::now();
    pool.parallel_for(pool.threads(),
                      [&](long chunk, int) { done[static_cast<std::size_t>(chunk)] = body(chunk); });
    const double took = seconds_since(start);
    double sum = 0;
    for (const double d : done) sum += d;
    if (sum == 0) return 0;
    best = std::max(best, sum / took * 1e-9);
  }
  return best;
}

/// Each thread reads its own floats so often that the loop is longer than its start.
double read_gbs(ThreadPool& pool, std::span<const float> data, long floats) {
  const long repeats = std::max(1L, 4 * l3_floats / floats);
  return best_rate(pool, [&](long thread) {
    volatile float sink = 0;
    for (long r = 0; r < repeats; ++r) sink = read_stream(data.data() + thread * floats, floats);
    static_cast<void>(sink);
    return static_cast<double>(repeats * floats) * sizeof(float);
  });
}

double triad_gbs(ThreadPool& pool, std::span<float> data) {
  const long floats = memory_floats(pool);
  const long third = floats / 3 / 128 * 128;
  return best_rate(pool, [&](long thread) {
    float* a = data.data() + thread * floats;
    triad(a, a + third, a + 2 * third, third);
    return 3.0 * static_cast<double>(third) * sizeof(float);
  });
}

void measure_other_arithmetic(Peak& peak, ThreadPool& pool) {
  const auto rate = [&](const PerIsa<MultiplyAdds>& chains) {
    return best_rate(
        pool, [&](long) { return chains(); }, seconds_of_other_arithmetic);
  };
  using enum ArithmeticKind;
  constexpr double products_of_pieces = 6;  // float_pieces.h
  const double unit = rate(unit_pair_chains);
  peak.own_gflops(f64) = rate(double_chains);
  peak.own_gflops(f32) = std::max(peak.gflops, unit / products_of_pieces);
  peak.own_gflops(bf16) = std::max({peak.gflops, rate(pair_chains), unit});
  peak.own_gflops(i8) = std::max({peak.gflops, rate(byte_chains), rate(unit_byte_chains)});
}

}  // namespace

double measure_gflops(ThreadPool& pool) {
  return best_rate(pool, [](long) { return float_chains(); });
}

Peak measure_peak(ThreadPool& pool) {
  Peak peak{.gflops = measure_gflops(pool)};
  measure_other_arithmetic(peak, pool);
  std::vector<float> data(static_cast<std::size_t>(memory_floats(pool) * pool.threads()), 1.0f);
  peak.gbs = std::max(read_gbs(pool, data, memory_floats(pool)), triad_gbs(pool, data));
  peak.l3_gbs = read_gbs(pool, data, l3_floats);
  peak.l2_gbs = read_gbs(pool, data, l2_floats);
  return peak;
}

}  // namespace tenon::cpu
