// Buffers of test numbers: indexed by long, filled reproducibly.
#pragma once
#include <cmath>
#include <random>
#include <vector>

namespace tenon::cpu {

/// A value no kernel computes: marks memory that must stay as it is.
inline constexpr float untouched = -12345.75f;

/// A vector of floats that is indexed by long. Exactly as long as asked, so that the sanitizer sees a read
/// past it.
class Numbers {
 public:
  Numbers() = default;
  explicit Numbers(long n, float value = 0) : values_(static_cast<std::size_t>(n), value) {}
  Numbers(std::initializer_list<float> values) : values_(values) {}
  explicit Numbers(std::vector<float> values) : values_(std::move(values)) {}

  float& operator[](long i) { return values_[static_cast<std::size_t>(i)]; }
  float operator[](long i) const { return values_[static_cast<std::size_t>(i)]; }
  float* data() { return values_.data(); }
  const float* data() const { return values_.data(); }
  long size() const { return static_cast<long>(values_.size()); }
  Numbers from(long first) const {
    Numbers rest;
    rest.values_.assign(values_.begin() + first, values_.end());
    return rest;
  }
  bool operator==(const Numbers&) const = default;

 private:
  std::vector<float> values_;
};

/// n numbers in [-1, 1), the same for the same seed.
inline Numbers random_numbers(long n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  Numbers v(n);
  for (long i = 0; i < n; i++) v[i] = uniform(engine);
  return v;
}

/// Multiples of 1/128 among them: values of both 16-bit formats, too.
inline Numbers coarse_numbers(long n, unsigned seed) {
  Numbers v = random_numbers(n, seed);
  for (long i = 0; i < n; i++) v[i] = std::floor(v[i] * 128) / 128;
  return v;
}

}  // namespace tenon::cpu
