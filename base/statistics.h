// What can be said about timings: quantiles, intervals, and whether one program is slower than another.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

struct Interval {
  double low = 0, high = 0;
};

struct Summary {
  double min = 0, median = 0, mean = 0, max = 0, stddev = 0;
  double p50 = 0, p90 = 0, p99 = 0;
  Interval ci95;  // of the median
};

/// The value below which a share of the samples lies, interpolated. Samples need not be sorted; not empty.
double quantile(std::span<const double> samples, double share);
double median(std::span<const double> samples);
Summary summarise(std::span<const double> samples);

/// A bootstrap interval of the median that holds it with this confidence. Samples are in the order in which
/// they were taken: runs of neighbours are drawn together (circular blocks of about n^(1/3)), because
/// disturbances last longer than one sample. Seeded: the same samples give the same interval.
Interval median_interval(std::span<const double> samples, double confidence = 0.95);

/// The chance, were the samples symmetric about zero, of signed ranks as high as these (Wilcoxon's
/// signed-rank test, one-sided, exact). Small: they lie above zero. 1 without samples.
double signed_rank_p(std::span<const double> samples);

/// The same for two samples taken apart: the chance, were both of one distribution, of `b` ranking as high
/// over `a` as it does (Mann-Whitney's test, one-sided, normal approximation).
double rank_sum_p(std::span<const double> a, std::span<const double> b);

/// p-values of several questions asked at once, raised so that a limit for each bounds the chance of even one
/// false answer (Holm).
std::vector<double> holm(std::span<const double> p);

}  // namespace tenon
