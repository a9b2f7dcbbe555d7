// Quantiles, bootstrap and rank tests.
#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace tenon {
namespace {

constexpr int resamples = 1000;

double sorted_quantile(std::span<const double> sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return std::lerp(sorted[low], sorted[high], at - static_cast<double>(low));
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = static_cast<double>(i + 1 + end) / 2;
    i = end;
  }
  return ranks;
}

// Reorders the values.
double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// The chance that a standard normal variable is above z.
double upper_tail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

}  // namespace

double quantile(std::span<const double> samples, double share) {
  return sorted_quantile(sorted_copy(samples), share);
}

double median(std::span<const double> samples) {
  std::vector<double> values(samples.begin(), samples.end());
  return median_of(values);
}

Summary summarise(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  const auto n = static_cast<double>(sorted.size());
  Summary s;
  s.min = sorted.front();
  s.max = sorted.back();
  s.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  double squares = 0;
  for (const double x : sorted) squares += (x - s.mean) * (x - s.mean);
  s.stddev = sorted.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  s.median = s.p50 = sorted_quantile(sorted, 0.5);
  s.p90 = sorted_quantile(sorted, 0.9);
  s.p99 = sorted_quantile(sorted, 0.99);
  s.ci95 = median_interval(samples);
  return s;
}

Interval median_interval(std::span<const double> samples, double confidence) {
  const std::size_t n = samples.size();
  const auto block = static_cast<std::size_t>(std::ceil(std::cbrt(static_cast<double>(n))));
  std::mt19937_64 random(n);
  std::uniform_int_distribution<std::size_t> start(0, n - 1);
  std::vector<double> medians, drawn;
  for (int r = 0; r < resamples; ++r) {
    drawn.clear();
    while (drawn.size() < n) {
      const std::size_t begin = start(random);
      for (std::size_t i = 0; i < block && drawn.size() < n; ++i) drawn.push_back(samples[(begin + i) % n]);
    }
    medians.push_back(median_of(drawn));
  }
  std::sort(medians.begin(), medians.end());
  return {sorted_quantile(medians, (1 - confidence) / 2), sorted_quantile(medians, (1 + confidence) / 2)};
}

double signed_rank_p(std::span<const double> samples) {
  std::vector<double> distances;
  for (const double x : samples) distances.push_back(std::abs(x));
  const std::vector<double> ranks = ranks_of(distances);
  double above = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    above += samples[i] > 0 ? ranks[i] : samples[i] == 0 ? ranks[i] / 2 : 0;
  // chance[s]: that the ranks which fall above zero sum to s, each doing so by the toss of a coin.
  std::vector<double> chance{1};
  for (std::size_t rank = 1; rank <= ranks.size(); ++rank) {
    std::vector<double> next(chance.size() + rank, 0);
    for (std::size_t s = 0; s < chance.size(); ++s) {
      next[s] += chance[s] / 2;
      next[s + rank] += chance[s] / 2;
    }
    chance = std::move(next);
  }
  double p = 0;
  for (auto s = static_cast<std::size_t>(std::floor(above)); s < chance.size(); ++s) p += chance[s];
  return std::min(p, 1.0);
}

double rank_sum_p(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 1;
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  const std::vector<double> ranks = ranks_of(all);
  const auto m = static_cast<double>(a.size()), n = static_cast<double>(b.size());
  const double sum = std::accumulate(ranks.begin() + static_cast<std::ptrdiff_t>(a.size()), ranks.end(), 0.0);
  const double expected = n * (m + n + 1) / 2;
  const double deviation = std::sqrt(m * n * (m + n + 1) / 12);
  return upper_tail((sum - expected - 0.5) / deviation);
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double highest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    highest = std::max(highest, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    adjusted[order[i]] = highest;
  }
  return adjusted;
}

}  // namespace tenon
