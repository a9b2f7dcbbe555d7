// How a wave multiplies matrices that lie in shared memory: on its matrix unit, or on the ordinary units.
#pragma once
#include "kernels/gpu/mfma_units.gpu.h"
#include "kernels/gpu/mma_units.gpu.h"
#include "kernels/gpu/wmma_units.gpu.h"

namespace tenon::gpu {

/// The unit for products of such elements, with all of their accuracy.
template <class T>
struct UnitOf {
  using type = OrdinaryUnit<T>;
};
#if GPU_MMA
template <>
struct UnitOf<half> {
  using type = HalfUnit<half>;
};
template <>
struct UnitOf<bfloat16> {
  using type = HalfUnit<bfloat16>;
};
template <>
struct UnitOf<float> {
  using type = Tf32Triple;
};
#elif GPU_MFMA
template <>
struct UnitOf<half> {
  using type = MfmaUnit<half>;
};
template <>
struct UnitOf<bfloat16> {
  using type = MfmaUnit<bfloat16>;
};
template <>
struct UnitOf<float> {
  using type = MfmaUnit<float>;
};
#elif GPU_WMMA
template <>
struct UnitOf<half> {
  using type = WmmaUnit<half>;
};
template <>
struct UnitOf<bfloat16> {
  using type = WmmaUnit<bfloat16>;
};
#endif

/// For products of bytes, signed char or unsigned char, which memory holds as unsigned char.
template <class LeftByte, class RightByte>
struct UnitOfBytes {
#if GPU_MMA
  using type = MmaOfBytes<LeftByte, RightByte>;
#elif GPU_MFMA
  using type = MfmaOfBytes<LeftByte, RightByte>;
#elif GPU_WMMA
  using type = WmmaOfBytes<LeftByte, RightByte>;
#else
  using type = OrdinaryUnit<unsigned char, LeftByte, RightByte>;
#endif
};

/// Forms of float8 that the device's matrix units multiply.
template <class T>
struct IsMultiplied {
#if GPU_MMA_OF_FLOAT8
  static constexpr bool value = same<T, float8_e4m3fn> || same<T, float8_e5m2>;
#elif GPU_MFMA_OF_FLOAT8
  static constexpr bool value = same<T, float8_e4m3fnuz> || same<T, float8_e5m2fnuz>;
#else
  static constexpr bool value = false;
#endif
};

/// For products of float8, which memory holds as unsigned char.
template <class LeftFloat, class RightFloat, bool = IsMultiplied<LeftFloat>::value>
struct UnitOfFloat8 {
  using type = OrdinaryUnit<unsigned char, LeftFloat, RightFloat>;
};
#if GPU_MMA_OF_FLOAT8
template <class LeftFloat, class RightFloat>
struct UnitOfFloat8<LeftFloat, RightFloat, true> {
  using type = MmaOfFloat8<LeftFloat, RightFloat>;
};
#elif GPU_MFMA_OF_FLOAT8
template <class LeftFloat, class RightFloat>
struct UnitOfFloat8<LeftFloat, RightFloat, true> {
  using type = MfmaOfFloat8<LeftFloat, RightFloat>;
};
#endif

/// For products of float32 that may be less accurate.
#if GPU_MMA
using Tf32OrFloat = Tf32Unit;
#else
using Tf32OrFloat = UnitOf<float>::type;
#endif

}  // namespace tenon::gpu
