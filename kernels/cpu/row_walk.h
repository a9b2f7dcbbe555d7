// Where the rows of a product lie, one after the other. Part of row_gemm.cpp, built once per ISA.
#pragma once
#include "kernels/cpu/row_gemm.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// Walks through the offsets of a RowMap row by row, without a division a row.
class RowWalk {
 public:
  RowWalk(const RowMap& map, long row)
      : map_(map),
        x_(row % map.width),
        y_(row / map.width % map.height),
        offset_(x_ * map.x_stride + y_ * map.y_stride + row / map.width / map.height * map.n_stride) {}
  long next() {
    const long here = offset_;
    offset_ += map_.x_stride;
    if (++x_ == map_.width) {
      x_ = 0;
      offset_ += map_.y_stride - map_.width * map_.x_stride;
      if (++y_ == map_.height) {
        y_ = 0;
        offset_ += map_.n_stride - map_.height * map_.y_stride;
      }
    }
    return here;
  }

 private:
  const RowMap& map_;
  long x_;
  long y_;
  long offset_;
};

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
