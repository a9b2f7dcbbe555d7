// Some columns of a product. Internal to the kernels that are made of such products.
#pragma once
#include <cstdint>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/typed_product.h"

namespace tenon::cpu {

inline constexpr long typed_depth = 128;     // of what is packed at once
inline constexpr long typed_columns = 256;   // of a call, at most
inline constexpr long typed_most_rows = 12;  // of a tile
inline constexpr long typed_work_size = typed_depth * (typed_columns + typed_most_rows);

/// Columns [first, last) of the product, or with `subtracts` of what c holds less the product, without a
/// bias; `work` has room for typed_work_size elements.
template <class T>
struct TypedColumns {
  const TypedProduct<T>* product;
  long first, last;
  T* work;
  bool subtracts = false;
};
#define TENON_TYPED_PRODUCT(T, name)                     \
  using name##_signature = void(const TypedColumns<T>&); \
  TENON_PER_ISA(name##_signature, name, name)
TENON_TYPED_PRODUCT(float, product_columns_f32)
TENON_TYPED_PRODUCT(double, product_columns_f64)
TENON_TYPED_PRODUCT(std::int32_t, product_columns_i32)
TENON_TYPED_PRODUCT(std::int64_t, product_columns_i64)
#undef TENON_TYPED_PRODUCT

}  // namespace tenon::cpu
