// Places that indices name, and folds into them, as the text of GPU kernels (places.gpu.h,
// placed_fold.gpu.h).
#pragma once
#include <span>
#include <string>

#include "base/dtype.h"

namespace tenon::gpu {

inline constexpr int places_rank = 8;

/// `places(indices..., places (u32), Fault, PlacesShape)`: a thread for each entry.
std::string places_source(std::span<const DType> indices);

/// `starts(places in order, numbers of the entries, [sources,] starts, [rows, Fault,] StartsShape)`: a thread
/// for each place and one more, and for each entry. With sources an entry takes the row that its source
/// names.
std::string starts_source(const DType* sources);

enum class PlacedReduce { last, sum, prod, min, max, mean };
/// Of u64 nothing but `last`: it would be computed with as i64.
constexpr bool can_fold(PlacedReduce reduce, DType t) {
  return reduce == PlacedReduce::last || is_float(t) || (is_integral(t) && t != DType::u64) || is_bool(t);
}

struct PlacedForm {
  DType dtype = DType::f32;  // of x, rows and result; of `last` any of the element's size
  PlacedReduce reduce = PlacedReduce::sum;
  bool weighted = false;
  int vector = 1, lanes = 1, slots = 1;  // of PlacedFold; powers of two

  int rows_at_once() const { return threads / (lanes * slots); }
  static constexpr int threads = 256;
};
/// The form for so many features, and entries of a place on average.
PlacedForm placed_form(DType dtype, PlacedReduce reduce, bool weighted, std::int64_t features,
                       std::int64_t entries);

/// `placed_fold(x, starts, rows, values, [numbers, weights,] result, PlacedShape)`.
std::string placed_fold_source(const PlacedForm&);

}  // namespace tenon::gpu
