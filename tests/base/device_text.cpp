// base/prim_meaning.h, base/special_meaning.h, base/matrix_exp_halves.h and base/philox_rounds.h compile
// without a standard library: with what a GPU's run-time compiler has built in.
#define __HIPCC_RTC__
#define __device__
#define __forceinline__ inline

#define UNARY(f)  \
  float f(float); \
  double f(double);
#define BINARY(f)        \
  float f(float, float); \
  double f(double, double);
#define QUESTION(f) \
  bool f(float);    \
  bool f(double);
UNARY(acos)
UNARY(acosh)
UNARY(asin)
UNARY(asinh)
UNARY(atan)
UNARY(atanh)
UNARY(ceil)
UNARY(cos)
UNARY(cosh)
UNARY(erf)
UNARY(erfc)
UNARY(exp)
UNARY(exp2)
UNARY(expm1)
UNARY(fabs)
UNARY(floor)
UNARY(lgamma)
UNARY(log)
UNARY(log10)
UNARY(log1p)
UNARY(log2)
UNARY(nearbyint)
UNARY(sin)
UNARY(sinh)
UNARY(sqrt)
UNARY(tan)
UNARY(tanh)
UNARY(trunc)
UNARY(j0)
UNARY(j1)
UNARY(y0)
UNARY(y1)
BINARY(atan2)
BINARY(copysign)
BINARY(fmax)
BINARY(fmin)
BINARY(fmod)
BINARY(hypot)
BINARY(nextafter)
BINARY(pow)
QUESTION(isfinite)
QUESTION(isinf)
QUESTION(isnan)
QUESTION(signbit)

#include "base/matrix_exp_halves.h"
#include "base/philox_rounds.h"
#include "base/special_meaning.h"

namespace tenon::scalar_detail {
float of_floats(Prim p, float a, float b, float c) { return meaning(p, a, b, c); }
double of_doubles(Prim p, double a, double b, double c) { return meaning(p, a, b, c); }
Int of_integers(Prim p, Int a, Int b, Int c) { return meaning(p, a, b, c); }
double of_special(SpecialFunction f, double a, double b) { return meaning(f, a, b); }
struct Room {
  using Matrix = int;
  int matrix();
  void fill(int, float), put(int, float, int, float), add(int, int, float), multiply(int, int, int);
  float norm(int), rounded(float), read(const double*, int);
};
int of_matrices(Room& room, int a) { return ExponentialOfHalves<Room>(room).of(a, true); }
void of_words(unsigned* words, unsigned key) { philox_rounds(words, key, key); }
}  // namespace tenon::scalar_detail
