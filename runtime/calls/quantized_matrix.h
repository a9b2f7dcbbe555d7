// A matrix of weights that is made of integers: (code - zero point) * scale, however the graph spells it.
#pragma once
#include <memory>
#include <optional>

#include "runtime/constant_value.h"

namespace tenon {

/// Where the elements of a matrix [rows, columns] of such numbers lie: element (i, j) at rows[i] +
/// columns[j].
struct PlaceSums {
  Index rows, columns;
};

/// What a matrix is made of, computed.
struct QuantizedNumbers {
  Tensor codes;  // dense i8 or u8
  std::int64_t least_code, largest_code;
  PlaceSums places;
  // Of each group of rows and each column, group by group.
  std::vector<float> scales;
  std::vector<std::int16_t> zeros;  // empty: 0
};

/// A matrix [K, N] of constants, in floats: (code - zero) * scale; in i32: code - zero.
class QuantizedMatrix {
 public:
  /// The right side of a product: [K, N], or, transposed, [N, K]. nullopt where the value is no such matrix,
  /// or fewer than 16 consecutive k share their scale. Where the graph
  /// computes the weights in 16-bit floats, that rounding is left out.
  static std::optional<QuantizedMatrix> match(const Value* value, bool is_transposed);

  /// The filters [N, channels, ...] of a convolution, or [channels, N, ...] of a transposed one: k counts
  /// channels and taps.
  static std::optional<QuantizedMatrix> match_filters(const Value* value, bool of_transposed = false);

  std::int64_t K() const { return K_; }
  std::int64_t N() const { return N_; }
  /// So many consecutive k, the first from 0 on, share scale and zero point.
  std::int64_t group() const { return group_; }
  /// All that it is made of: ConstantValue::text, and how.
  const std::string& text() const { return text_; }
  Tensor first_weight() const { return codes_.base.first_weight(); }
  /// Computed when asked for the first time. nullopt where the codes have more than 8 bits or a zero point is
  /// not whole.
  const std::optional<QuantizedNumbers>& numbers() const;

  /// An n-d array of numbers whose axes are made of factors, the first one of which moves slowest.
  struct Part {
    std::int64_t size, stride;
  };
  struct View {
    ConstantValue base;
    std::vector<std::vector<Part>> axes;
  };

 private:
  QuantizedMatrix(View codes, std::optional<View> zero, std::optional<View> scale, bool is_transposed);
  std::optional<QuantizedNumbers> compute() const;

  View codes_;
  std::optional<View> zero_, scale_;
  std::size_t k_axis_, n_axis_;
  std::int64_t K_, N_, group_;
  std::string text_;
  mutable std::shared_ptr<std::optional<QuantizedNumbers>> numbers_;
};

}  // namespace tenon
