// Fourier transforms of a vector's lanes of lines at once: number j of all lines is two vectors (real,
// imaginary). Stockham's passes by 2 to 13 from one area to another; a prime beyond is a convolution. Built
// once per ISA.
#include "kernels/cpu/fft_block.h"

#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

typedef double vd __attribute__((vector_size(VL * 4)));

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using type = vf;
};
template <>
struct VectorOf<double> {
  using type = vd;
};

/// A complex number of each line.
template <class V>
struct Z {
  V re, im;
  TENON_INLINE Z operator+(const Z& b) const { return {re + b.re, im + b.im}; }
  TENON_INLINE Z operator-(const Z& b) const { return {re - b.re, im - b.im}; }
  template <class T>
  TENON_INLINE Z times(T c, T s) const {
    return {re * c - im * s, re * s + im * c};
  }
  TENON_INLINE Z times_minus_i() const { return {im, -re}; }
};

/// cos and sin(2 pi k / R), k = 0 ... R - 1.
template <int R>
struct Roots;
#define TENON_ROOTS(R, ...)                                  \
  template <>                                                \
  struct Roots<R> {                                          \
    static constexpr double of[2 * (R / 2)] = {__VA_ARGS__}; \
  };
TENON_ROOTS(3, -0.5, 0.86602540378443864676)
TENON_ROOTS(5, 0.30901699437494742410, 0.95105651629515357212, -0.80901699437494742410,
            0.58778525229247312917)
TENON_ROOTS(7, 0.62348980185873353053, 0.78183148246802980871, -0.22252093395631440429,
            0.97492791218182360702, -0.90096886790241912624, 0.43388373911755812048)
TENON_ROOTS(11, 0.84125353283118116886, 0.54064081745559758211, 0.41541501300188642553,
            0.90963199535451837141, -0.14231483827328514044, 0.98982144188093273238, -0.65486073394528506406,
            0.75574957435425828377, -0.95949297361449738990, 0.28173255684142969771)
TENON_ROOTS(13, 0.88545602565320989590, 0.46472317204376854566, 0.56806474673115580251,
            0.82298386589365639458, 0.12053668025532305335, 0.99270887409805399280, -0.35460488704253562597,
            0.93501624268541482344, -0.74851074817110109863, 0.66312265824079520238, -0.97094181742605202716,
            0.23931566428755776715)
#undef TENON_ROOTS

template <int R, class T, class V>
static TENON_INLINE void transform_odd(Z<V> (&z)[R]) {
  constexpr int half = R / 2;
  Z<V> sum[half], difference[half];
  const Z<V> first = z[0];
  TENON_UNROLL
  for (int j = 0; j < half; j++) {
    sum[j] = z[j + 1] + z[R - 1 - j];
    difference[j] = z[j + 1] - z[R - 1 - j];
    z[0] = z[0] + sum[j];
  }
  TENON_UNROLL
  for (int k = 1; k <= half; k++) {
    Z<V> even = first, odd{};
    TENON_UNROLL
    for (int j = 0; j < half; j++) {
      const int turn = k * (j + 1) % R, at = turn <= half ? turn : R - turn;
      const T c = static_cast<T>(Roots<R>::of[2 * at - 2]);
      const T s = static_cast<T>(turn <= half ? Roots<R>::of[2 * at - 1] : -Roots<R>::of[2 * at - 1]);
      even = {even.re + sum[j].re * c, even.im + sum[j].im * c};
      odd = {odd.re + difference[j].re * s, odd.im + difference[j].im * s};
    }
    z[k] = even + odd.times_minus_i();
    z[R - k] = even - odd.times_minus_i();
  }
}

template <class V>
static TENON_INLINE void transform_4(Z<V>& a, Z<V>& b, Z<V>& c, Z<V>& d) {
  const Z<V> ac = a + c, a_c = a - c, bd = b + d, b_d = (b - d).times_minus_i();
  a = ac + bd;
  b = a_c + b_d;
  c = ac - bd;
  d = a_c - b_d;
}

template <int R, class T, class V>
static TENON_INLINE void transform(Z<V> (&z)[R]) {
  if constexpr (R == 2) {
    const Z<V> sum = z[0] + z[1];
    z[1] = z[0] - z[1];
    z[0] = sum;
  } else if constexpr (R == 4) {
    transform_4(z[0], z[1], z[2], z[3]);
  } else if constexpr (R == 8) {
    constexpr T h = static_cast<T>(0.70710678118654752440);
    transform_4(z[0], z[2], z[4], z[6]);
    transform_4(z[1], z[3], z[5], z[7]);
    const Z<V> b = z[3], d = z[7];
    z[3] = {(b.re + b.im) * h, (b.im - b.re) * h};
    z[5] = z[5].times_minus_i();
    z[7] = {(d.im - d.re) * h, -(d.re + d.im) * h};
    // Pairs (even k, odd k): results k and k + 4.
    const Z<V> e[4] = {z[0], z[2], z[4], z[6]}, o[4] = {z[1], z[3], z[5], z[7]};
    TENON_UNROLL
    for (int k = 0; k < 4; k++) {
      z[k] = e[k] + o[k];
      z[k + 4] = e[k] - o[k];
    }
  } else {
    transform_odd<R, T>(z);
  }
}

/// Where numbers of all lines lie; `swapped` exchanges the parts, which makes a transform its inverse.
template <class T>
struct Area {
  using V = typename VectorOf<T>::type;
  static constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(T));
  V* at;
  bool swapped = false;

  TENON_INLINE Z<V> get(long j) const { return {at[2 * j + swapped], at[2 * j + !swapped]}; }
  TENON_INLINE void set(long j, const Z<V>& z) const {
    at[2 * j + swapped] = z.re;
    at[2 * j + !swapped] = z.im;
  }
};

/// The transforms at p. Factors: null where all are 1.
template <int R, class T>
static TENON_INLINE void pass_at(const Area<T>& from, const Area<T>& to, long p, long m, long stride,
                                 const T* factors) {
  using V = typename Area<T>::V;
  for (long q = 0; q < stride; q++) {
    Z<V> z[R];
    TENON_UNROLL
    for (int k = 0; k < R; k++) z[k] = from.get(q + stride * (p + m * k));
    transform<R, T>(z);
    to.set(q + stride * R * p, z[0]);
    TENON_UNROLL
    for (int k = 1; k < R; k++)
      to.set(q + stride * (R * p + k), factors ? z[k].times(factors[2 * k - 2], factors[2 * k - 1]) : z[k]);
  }
}
template <int R, class T>
static void pass(const Area<T>& from, const Area<T>& to, long m, long stride, const T* factors) {
  pass_at<R, T>(from, to, 0, m, stride, nullptr);
  for (long p = 1; p < m; p++) pass_at<R, T>(from, to, p, m, stride, factors + 2 * (R - 1) * p);
}

/// Transforms area a of n numbers, with b's help. Returns where the result lies.
template <class T>
static Area<T> transform_all(const FftTables<T>& t, Area<T> a, Area<T> b, long n) {
  const T* factors = t.factors.data();
  long stride = 1;
  for (unsigned i = 0; i < t.radices.size(); i++) {
    const int radix = t.radices.data()[i];
    const long m = n / radix;
    switch (radix) {
      case 2: pass<2>(a, b, m, stride, factors); break;
      case 3: pass<3>(a, b, m, stride, factors); break;
      case 4: pass<4>(a, b, m, stride, factors); break;
      case 5: pass<5>(a, b, m, stride, factors); break;
      case 7: pass<7>(a, b, m, stride, factors); break;
      case 8: pass<8>(a, b, m, stride, factors); break;
      case 11: pass<11>(a, b, m, stride, factors); break;
      default: pass<13>(a, b, m, stride, factors);
    }
    factors += 2 * m * (radix - 1);
    n = m;
    stride *= radix;
    const Area<T> last = a;
    a = b;
    b = last;
  }
  return a;
}

/// The same for any length: jk = (j^2 + k^2 - (k - j)^2) / 2.
template <class T>
static Area<T> transform_any(const FftTables<T>& t, Area<T> a, Area<T> b) {
  if (t.padded == 0) return transform_all(t, a, b, t.length);
  const T *chirp = t.chirp.data(), *filter = t.filter.data();
  for (long k = 0; k < t.length; k++) b.set(k, a.get(k).times(chirp[2 * k], chirp[2 * k + 1]));
  for (long k = t.length; k < t.padded; k++) b.set(k, Z<typename Area<T>::V>{});
  Area<T> z = transform_all(t, b, a, t.padded);
  for (long k = 0; k < t.padded; k++) z.set(k, z.get(k).times(filter[2 * k], filter[2 * k + 1]));
  z.swapped = !z.swapped;
  z = transform_all(t, z, Area<T>{z.at == a.at ? b.at : a.at, z.swapped}, t.padded);
  z.swapped = !z.swapped;
  for (long k = 0; k < t.length; k++) z.set(k, z.get(k).times(chirp[2 * k], chirp[2 * k + 1]));
  return z;
}

// A square of numbers in registers, turned: as in simd.h, for both types.
template <int S, class V, int... I>
static TENON_INLINE void swap_squares(V& a, V& b, LaneList<I...>) {
  constexpr int lanes = sizeof...(I);
  const V low = __builtin_shufflevector(a, b, ((I & S) ? lanes + I - S : I)...);
  const V high = __builtin_shufflevector(a, b, ((I & S) ? lanes + I : I + S)...);
  a = low;
  b = high;
}
template <int S, int Lanes, class V>
static TENON_INLINE void turn(V (&r)[Lanes]) {
  if constexpr (S > 0) {
    TENON_UNROLL
    for (int i = 0; i < Lanes; i++) {
      if (!(i & S)) swap_squares<S>(r[i], r[i + S], typename MakeLaneList<Lanes>::type{});
    }
    turn<S / 2>(r);
  }
}

template <class T>
static TENON_INLINE typename VectorOf<T>::type load_some(const T* p, long n) {
  typename VectorOf<T>::type v{};
  __builtin_memcpy(&v, p, static_cast<unsigned long>(n) * sizeof(T));
  return v;
}

// Lines to columns and back: `lines` lines of `count` numbers T, number j of line l at j * lanes + l.
template <class T>
static void read_lines(long lines, long count, const T* x, T* to) {
  using V = typename VectorOf<T>::type;
  constexpr int lanes = Area<T>::lanes;
  for (long j = 0; j < count; j += lanes) {
    const long n = count - j < lanes ? count - j : lanes;
    V r[lanes];
    TENON_UNROLL
    for (int l = 0; l < lanes; l++) {
      const T* from = x + l * count + j;
      if (l >= lines) {
        r[l] = V{};
      } else if (n == lanes) {
        __builtin_memcpy(&r[l], from, sizeof(V));
      } else {
        r[l] = load_some(from, n);
      }
    }
    turn<lanes / 2>(r);
    TENON_UNROLL
    for (int i = 0; i < lanes; i++)
      if (i < n) reinterpret_cast<V*>(to)[j + i] = r[i];
  }
}
template <class T>
static void write_lines(long lines, long count, const T* from, T* y) {
  using V = typename VectorOf<T>::type;
  constexpr int lanes = Area<T>::lanes;
  constexpr int squares = 4;  // lines are written in pieces of so many vectors, one line after the other
  V piece[lanes][squares];
  for (long j = 0; j < count; j += squares * lanes) {
    const long n = count - j < squares * lanes ? count - j : squares * lanes;
    for (int s = 0; s < squares && s * lanes < n; s++) {
      V r[lanes];
      TENON_UNROLL
      for (int i = 0; i < lanes; i++)
        r[i] = s * lanes + i < n ? reinterpret_cast<const V*>(from)[j + s * lanes + i] : V{};
      turn<lanes / 2>(r);
      TENON_UNROLL
      for (int l = 0; l < lanes; l++) piece[l][s] = r[l];
    }
    for (long l = 0; l < lines; l++) {
      T* const to = y + l * count + j;
      const int whole = static_cast<int>(n / lanes);
      for (int s = 0; s < whole; s++) __builtin_memcpy(to + s * lanes, &piece[l][s], sizeof(V));
      if (n % lanes != 0)
        __builtin_memcpy(to + whole * lanes, &piece[l][whole],
                         static_cast<unsigned long>(n % lanes) * sizeof(T));
    }
  }
}

template <class V, int... I>
static TENON_INLINE void to_parts(const V& a, const V& b, V& re, V& im, LaneList<I...>) {
  re = __builtin_shufflevector(a, b, (2 * I)...);
  im = __builtin_shufflevector(a, b, (2 * I + 1)...);
}
template <class V, int... I>
static TENON_INLINE void to_pairs(const V& re, const V& im, V& a, V& b, LaneList<I...>) {
  constexpr int lanes = sizeof...(I);
  a = __builtin_shufflevector(re, im, (I / 2 + I % 2 * lanes)...);
  b = __builtin_shufflevector(re, im, (lanes / 2 + I / 2 + I % 2 * lanes)...);
}

// Lines that lie side by side: complex number j of line l at (j * step + l). `Whole`: as many as lanes.
template <bool Whole, class T>
static void read_columns(long lines, long step, long n, const T* x, const Area<T>& to) {
  using L = Lanes<T>;
  const long first = 2 * lines < L::count ? 2 * lines : L::count, second = 2 * lines - first;
  for (long j = 0; j < n; j++, x += 2 * step) {
    const auto a = Whole ? L::load(x) : L::load_first(x, first);
    const auto b = Whole        ? L::load(x + L::count)
                   : second > 0 ? L::load_first(x + L::count, second)
                                : typename L::V{};
    to_parts(a, b, to.at[2 * j], to.at[2 * j + 1], typename MakeLaneList<Area<T>::lanes>::type{});
  }
}
template <bool Whole, class T>
static void write_columns(long lines, long step, long n, const Area<T>& from, T* y) {
  using L = Lanes<T>;
  const long first = 2 * lines < L::count ? 2 * lines : L::count, second = 2 * lines - first;
  for (long j = 0; j < n; j++, y += 2 * step) {
    typename L::V a, b;
    to_pairs(from.at[2 * j], from.at[2 * j + 1], a, b, typename MakeLaneList<Area<T>::lanes>::type{});
    Whole ? L::store(y, a) : L::store_first(y, a, first);
    if (Whole)
      L::store(y + L::count, b);
    else if (second > 0)
      L::store_first(y + L::count, b, second);
  }
}

/// From the transform of pairs (even, odd) of real numbers to the numbers' own, k and length - k at once.
template <class T>
static void unfold(const FftTables<T>& t, const Area<T>& z, const Area<T>& y) {
  using V = typename Area<T>::V;
  const long h = t.length;
  const T* w = t.folding.data();
  const T half = static_cast<T>(0.5);
  const Z<V> first = z.get(0);
  y.set(0, {first.re + first.im, V{}});
  y.set(h, {first.re - first.im, V{}});
  for (long k = 1; 2 * k <= h; k++) {
    const Z<V> a = z.get(k), mirrored = z.get(h - k), b = {mirrored.re, -mirrored.im};
    const Z<V> sum = a + b, turned = (a - b).times_minus_i().times(w[2 * k], w[2 * k + 1]);
    y.set(h - k, {(sum.re - turned.re) * half, (turned.im - sum.im) * half});
    y.set(k, {(sum.re + turned.re) * half, (sum.im + turned.im) * half});
  }
}

/// Back. The first number and the middle one count as real.
template <class T>
static void fold(const FftTables<T>& t, const Area<T>& x, const Area<T>& z) {
  using V = typename Area<T>::V;
  const long h = t.length;
  const T* w = t.folding.data();
  const V first = x.get(0).re, middle = x.get(h).re;
  z.set(0, {first + middle, first - middle});
  for (long k = 1; 2 * k <= h; k++) {
    const Z<V> a = x.get(k), mirrored = x.get(h - k), b = {mirrored.re, -mirrored.im};
    const Z<V> sum = a + b, turned = (a - b).times(w[2 * k], -w[2 * k + 1]);
    z.set(h - k, {sum.re + turned.im, turned.re - sum.im});
    z.set(k, {sum.re - turned.im, sum.im + turned.re});
  }
}

/// Not 0 in lanes of lines that have an imaginary part.
template <class T>
static auto imaginary_lines(const Area<T>& x, long n) {
  using V = typename Area<T>::V;
  auto found = V{} != V{};
  for (long j = 0; j < n; j++) found |= x.at[2 * j + 1] != V{};
  return found;
}

template <class T>
static void transform_block(const FftBlock<T>& block) {
  using V = typename Area<T>::V;
  const FftTables<T>& t = *block.tables;
  Area<T> a{reinterpret_cast<V*>(block.work)}, b{reinterpret_cast<V*>(block.work + block.work_size)};
  const Area<T> c{reinterpret_cast<V*>(block.work + 2 * block.work_size)};
  T* const into = reinterpret_cast<T*>(a.at);
  const bool is_whole = block.lines == Area<T>::lanes;
  if (block.step > 0) {
    (is_whole ? read_columns<true, T> : read_columns<false, T>)(block.lines, block.step, t.n, block.x, a);
  } else {
    read_lines(block.lines, t.floats_in, block.x, into);
  }
  if (t.kind == FftKind::half_to_real) {
    if (t.is_folded) {
      fold(t, a, b);
      b.swapped = true;
      b = transform_any(t, b, Area<T>{c.at, true});
      write_lines(block.lines, t.n, reinterpret_cast<const T*>(b.at), block.y);
      return;
    }
    a.at[1] = V{};
    for (long k = 1; k <= t.n / 2; k++) {
      const Z<V> z = a.get(k);
      a.set(t.n - k, {z.re, -z.im});
    }
    a.swapped = b.swapped = true;
    a = transform_any(t, a, b);
    T* const real = reinterpret_cast<T*>(c.at);
    for (long k = 0; k < t.n; k++) reinterpret_cast<V*>(real)[k] = a.at[2 * k];
    write_lines(block.lines, t.n, real, block.y);
    return;
  }
  if (t.kind == FftKind::real_to_half) {
    if (t.is_folded) {
      a = transform_any(t, a, b);
      unfold(t, a, c);
      a = c;
    } else {
      for (long k = 0; k < t.n; k++) c.set(k, {a.at[k], V{}});
      a = transform_any(t, c, b);
      a.at[1] = V{};
    }
  } else {
    const auto has_imaginary = imaginary_lines(a, t.n);
    a.swapped = b.swapped = t.inverse;
    a = transform_any(t, a, b);
    const V zero = static_cast<T>(t.inverse ? -0.0 : 0.0) - V{};
    // Of real numbers, the first result and the middle one are real.
    a.at[1] = has_imaginary ? a.at[1] : zero;
    if (t.n % 2 == 0) a.at[t.n + 1] = has_imaginary ? a.at[t.n + 1] : zero;
    if (block.step > 0)
      return (is_whole ? write_columns<true, T> : write_columns<false, T>)(block.lines, block.step, t.n, a,
                                                                           block.y);
  }
  write_lines(block.lines, t.floats_out, reinterpret_cast<const T*>(a.at), block.y);
}

}  // namespace

void fft_block_f32(const FftBlock<float>& block) { transform_block(block); }
void fft_block_f64(const FftBlock<double>& block) { transform_block(block); }
long fft_lanes() { return VL; }
bool fft_has_registers_for_8() { return vector_registers >= 32; }

}  // namespace tenon::cpu::TENON_ISA
