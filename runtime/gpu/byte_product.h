// Products of bytes from which zero points are subtracted: the kernels read the bytes, and correct the sums.
// Products of float8 that float32 stands for are read so, too.
#pragma once
#include <optional>

#include "runtime/centred_bytes.h"
#include "runtime/constant_value.h"
#include "runtime/planner.h"

namespace tenon::gpu {

/// A constant matrix of 32-bit integers as bytes minus zero points.
class ByteWeights {
 public:
  /// nullopt where a column spans more than 256 numbers. A transposed one lies as [columns, depth].
  static std::optional<ByteWeights> match(const Planner&, const Value* matrix, bool is_transposed);

  double bytes() const { return static_cast<double>(columns_ * column_bytes()); }
  std::int64_t columns() const { return columns_; }
  bool has_zeros() const { return form_.has_zeros; }
  /// The bytes [depth, columns], a column's side by side.
  PlannedTensor place(Planner&) const;
  /// The zero points of the columns.
  PlannedTensor place_zeros(Planner&) const;

  struct Form {
    bool is_there;   // the matrix has one
    bool is_signed;  // its bytes are i8, else u8
    bool has_zeros;
  };

 private:
  ByteWeights(ConstantValue matrix, bool is_transposed);
  std::int64_t column_bytes() const { return (depth_ + 15) / 16 * 16; }
  std::string text() const;
  Tensor packed(const Planner&, const std::string& what, std::int64_t bytes,
                FunctionRef<void(const std::int32_t* columns, std::byte* target)> fill) const;

  ConstantValue matrix_;
  bool is_transposed_;
  std::int64_t columns_, depth_;
  Form form_{};
};

/// A group that begins with the sides' bytes (read_bytes). Values are those of the graph's body.
struct ByteCall {
  const Node* anchor;
  const Value* bias;   // of the anchor; null: none
  CentredBytes left;   // no zero: none is subtracted
  CentredBytes right;  // no bytes: weights, or a matrix
  std::optional<ByteWeights> weights;
  std::optional<Tensor> matrix;  // of float8, [depth, columns]

  static std::optional<ByteCall> match(const Planner&, const Group&);
  Work work() const;
};

}  // namespace tenon::gpu
