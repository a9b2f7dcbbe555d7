// References of what looks elements up: keys and n-grams.
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "ir/ops/reference.h"
#include "ir/ops/text.h"

namespace tenon {
namespace {

// Equal numbers and equal strings have equal codes.
std::vector<std::uint64_t> codes_of(const Tensor& t) {
  std::vector<std::uint64_t> codes(static_cast<std::size_t>(t.numel()));
  if (is_float(t.dtype())) {
    const Tensor wide = t.to(DType::f64).contiguous();
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double value = wide.data<double>()[i];
      codes[i] = std::isnan(value) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value == 0 ? 0 : value);
    }
  } else {
    const Tensor wide = (is_string(t.dtype()) ? t.bits_as(DType::i64) : t.to(DType::i64)).contiguous();
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<std::uint64_t>(wide.data<std::int64_t>()[i]);
  }
  return codes;
}

using Ngram = std::vector<std::uint64_t>;

// Where each n-gram of the pool is counted.
std::map<Ngram, std::int64_t> places_of(const CountNgrams& op, const std::vector<std::uint64_t>& pool) {
  std::map<Ngram, std::int64_t> found;
  std::size_t next = 0;
  for (std::size_t level = 0; level < op.starts.size(); ++level) {
    const bool is_last = level + 1 == op.starts.size();
    const auto all = static_cast<std::int64_t>(pool.size()), length = static_cast<std::int64_t>(level) + 1;
    const std::int64_t begin = op.starts[level], end = is_last ? all : op.starts[level + 1];
    if (begin < 0 || end < begin || end > all || (end - begin) % length != 0)
      throw error("n-grams of {} elements do not fill elements {} to {} of a pool of {}", length, begin, end,
                  all);
    for (std::int64_t at = begin; at < end; at += length, ++next) {
      if (next >= op.places.size()) throw error("its n-grams are more than their places");
      if (length < op.shortest || length > op.longest) continue;
      const Ngram ngram(pool.begin() + at, pool.begin() + at + length);
      if (!found.emplace(ngram, op.places[next]).second)
        throw unsupported("n-gram {} of its pool stands there twice", next);
    }
  }
  if (next != op.places.size()) throw error("{} n-grams have {} places", next, op.places.size());
  return found;
}

}  // namespace

void Find::reference(InSpan in, OutSpan out) const {
  const std::vector<std::uint64_t> keys = codes_of(in[1]);
  std::unordered_map<std::uint64_t, std::int64_t> places;
  for (std::size_t i = 0; i < keys.size(); ++i) places[keys[i]] = static_cast<std::int64_t>(i);
  std::int64_t* to = out[0].mutable_data<std::int64_t>();
  for (const std::uint64_t code : codes_of(in[0])) {
    const auto it = places.find(code);
    *to++ = it == places.end() ? static_cast<std::int64_t>(keys.size()) : it->second;
  }
}

void CountNgrams::reference(InSpan in, OutSpan out) const {
  const auto places_of_ngrams = places_of(*this, codes_of(in[1]));
  const std::vector<std::uint64_t> all = codes_of(in[0]);
  const std::int64_t n = in[0].shape().back();
  const std::int64_t rows = in[0].rank() == 2 ? in[0].shape()[0] : 1;
  const auto levels = static_cast<std::int64_t>(starts.size());
  fill(out[0], 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t* counts = out[0].mutable_data<std::int64_t>() + row * size;
    const std::uint64_t* line = all.data() + row * n;
    for (std::int64_t length = shortest; length <= std::min(longest, levels); ++length) {
      const std::int64_t widest = length == 1 ? 1 : std::min(skips, n) + 1;
      for (std::int64_t step = 1; step <= widest; ++step)
        for (std::int64_t at = 0; at + (length - 1) * step < n; ++at) {
          Ngram ngram;
          for (std::int64_t k = 0; k < length; ++k) ngram.push_back(line[at + k * step]);
          if (const auto it = places_of_ngrams.find(ngram); it != places_of_ngrams.end())
            ++counts[it->second];
        }
    }
  }
}

}  // namespace tenon
