// What the elements of a constant say. Asked of each candidate in each sweep: at the speed of memory.
#pragma once
#include <cstring>
#include <type_traits>

#include "base/dtype.h"
#include "ir/graph.h"

namespace tenon {

/// A bool's byte may hold any value.
template <class T>
double element_at(const std::byte* at) {
  std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T> element;
  std::memcpy(&element, at, sizeof element);
  if constexpr (std::is_same_v<T, bool>)
    return element != 0;
  else
    return static_cast<double>(element);
}

/// Whether says(element) of every element, a double, in row-major order; false where the value is no
/// constant, its data are not there, or it holds no real numbers.
template <class Says>
bool every_element(const Value& v, Says says) {
  if (!v.is_constant() || !v.tensor().defined() || is_complex(v.dtype()) || is_string(v.dtype()))
    return false;
  const Tensor dense = v.tensor().contiguous();
  return dispatch_real(v.dtype(), [&]<class T>(dtype_tag<T>) {
    const std::byte* at = dense.bytes();
    const std::byte* end = at + static_cast<std::size_t>(dense.numel()) * sizeof(T);
    for (; at != end; at += sizeof(T))
      if (!says(element_at<T>(at))) return false;
    return true;
  });
}

}  // namespace tenon
