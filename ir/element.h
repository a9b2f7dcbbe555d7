// One element of any dtype: loading, storing and converting it, the way PyTorch's CPU does.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/dtype.h"

namespace tenon {

template <class T>
inline constexpr bool is_complex_element = false;
template <class T>
inline constexpr bool is_complex_element<std::complex<T>> = true;

template <class T>
inline constexpr bool is_float_element = std::is_floating_point_v<T> || is_small_float_element<T>;

/// dispatch_real, and complex as std::complex.
template <class F>
decltype(auto) dispatch_element(DType t, F&& f) {
  if (t == DType::c64) return f(dtype_tag<std::complex<float>>{});
  if (t == DType::c128) return f(dtype_tag<std::complex<double>>{});
  return dispatch_real(t, f);
}

/// Reads one element. A bool's byte may hold any value: what is not 0 is true.
template <class T>
T load(const std::byte* at) {
  if constexpr (std::is_same_v<T, bool>) {
    return *at != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  }
}

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

/// Truncation; the smallest integer for NaN and for what does not fit: what x86's cvttsd2si gives.
template <class Int>
Int truncate(double x) {
  constexpr double limit = -static_cast<double>(std::numeric_limits<Int>::min());
  const double whole = std::trunc(x);
  return whole >= -limit && whole < limit ? static_cast<Int>(whole) : std::numeric_limits<Int>::min();
}

template <class Int>
Int float_to_int(double x) {
  if constexpr (sizeof(Int) < 4) {
    return static_cast<Int>(truncate<std::int32_t>(x));
  } else if constexpr (std::is_signed_v<Int>) {
    return truncate<Int>(x);
  } else {
    // The upper half of the unsigned range is converted as a signed number, shifted.
    using Signed = std::make_signed_t<Int>;
    constexpr Int half = Int{1} << (8 * sizeof(Int) - 1);
    constexpr double limit = static_cast<double>(half);
    return x >= limit ? static_cast<Int>(truncate<Signed>(x - limit)) ^ half
                      : static_cast<Int>(truncate<Signed>(x));
  }
}

template <class To, class From>
To convert_element(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (is_complex_element<To>) {
    using Part = typename To::value_type;
    if constexpr (is_complex_element<From>)
      return To(static_cast<Part>(from.real()), static_cast<Part>(from.imag()));
    else
      return To(convert_element<Part>(from), 0);
  } else if constexpr (std::is_same_v<To, bool>) {
    if constexpr (is_float_element<From>)
      return static_cast<double>(from) != 0;
    else
      return from != From(0);
  } else if constexpr (is_complex_element<From>) {
    return convert_element<To>(from.real());
  } else if constexpr (is_float_element<To>) {
    if constexpr (is_small_float_element<To>)
      return To(static_cast<float>(from));
    else
      return static_cast<To>(from);
  } else if constexpr (is_float_element<From>) {
    return float_to_int<To>(static_cast<double>(from));
  } else {
    return static_cast<To>(from);
  }
}

}  // namespace tenon
