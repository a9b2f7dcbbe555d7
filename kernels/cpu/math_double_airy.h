// Airy's function Ai in doubles without branches, as the functions of math_double.h. The coefficients come
// from fit_special.py.
//
// Largest errors, as there: airy_ai 5 for x >= -1.5, below that 8 of 0.6 |x|^(-1/4), about its zeros
#pragma once
#include "kernels/cpu/math_double_bessel.h"
#include "kernels/cpu/math_double_power.h"

namespace tenon::cpu::TENON_ISA {

/// The regions of its formulas.
constexpr double airy_wave = -5, airy_middle = -1.5, airy_decay = 1.25;

/// For airy_middle <= x <= airy_decay.
static TENON_INLINE double double_airy_near(double x) {
  return double_horner(
      x + 0.125, 0x1.5cf90bf1367bep-47, -0x1.1ea632d8169c2p-45, -0x1.d2ebad57718edp-42, 0x1.2eae410f5f25ep-38,
      -0x1.29642863fe894p-37, -0x1.3c80ebf1612e8p-33, 0x1.61e721a810568p-30, -0x1.2591fd20e7435p-29,
      -0x1.2ad618b78c208p-25, 0x1.1da38d4d366ecp-22, -0x1.7dbde5cc35531p-22, -0x1.6f30617830600p-18,
      0x1.20d3f2095e59bp-15, -0x1.23f4b3b6219a9p-15, -0x1.0475ee354b0c5p-11, 0x1.3ccac0d962f5ep-9,
      -0x1.afb98a3fad468p-10, -0x1.593a3bba741c1p-6, 0x1.1e3442edf4c02p-4, -0x1.8c8dcb589e16ep-6,
      -0x1.0604c8628843ap-2, 0x1.8c8dcb589e17cp-2);
}
/// For airy_wave <= x <= airy_middle.
static TENON_INLINE double double_airy_middle(double x) {
  return double_horner(
      x + 3.25, 0x1.315fa8aedd3b6p-53, -0x1.1d6567f218fd8p-51, -0x1.147182913fc33p-47, 0x1.3c78092881f52p-44,
      0x1.465370e5439b7p-45, -0x1.11254446d1046p-38, 0x1.5398a81936f62p-36, 0x1.590843badc4b8p-34,
      -0x1.4ec363145261ep-30, 0x1.6b2f4131cf124p-29, 0x1.17ef14e908374p-25, -0x1.e3eba3172a4dfp-23,
      -0x1.a58e8bf69c61ap-24, 0x1.b5dbf4d7b09f5p-18, -0x1.4c50613188b3ap-16, -0x1.4e3a05b0f6c4bp-14,
      0x1.3bc3427827718p-11, -0x1.d066d875276c7p-13, -0x1.029605008fec0p-7, 0x1.22438d6d85500p-6,
      0x1.721746787efc1p-5, -0x1.7a16e3df930f0p-3, -0x1.189a2477d6d2dp-4, 0x1.5c9e7945ef774p-1,
      -0x1.41a17b6ee4671p-9, -0x1.ad11d0561308fp-2);
}

/// zeta = 2 / 3 x^(3/2), and the root of x.
struct AiryArgument {
  TwoDoubles zeta;
  double root;
};
static TENON_INLINE AiryArgument double_airy_argument(double x) {
  const double root = __builtin_sqrt(x);
  const TwoDoubles back = exact_product(root, root), product = exact_product(x, root);
  const double rest = 0.5 * root * ((x - back.high) - back.low);  // x times what the root leaves out
  return {product_of({product.high, product.low + rest}, {0x1.5555555555555p-1, 0x1.5555555555555p-55}),
          root};
}

/// For airy_decay <= x <= 103.9: DLMF 9.7.5.
static TENON_INLINE double double_airy_decay(double x) {
  const AiryArgument argument = double_airy_argument(x);
  const double zeta = argument.zeta.high, least = 0x1.dd072035297c2p-1;  // zeta of airy_decay
  const double t = (zeta - 3 * least) / (zeta + least);
  const double share = double_horner(
      t, 0x1.7eb8ec488f56cp-36, 0x1.2f5d055697bccp-35, -0x1.903e69cc1c594p-35, -0x1.9f01354be8ddap-34,
      0x1.889342c0e5720p-33, 0x1.92b9bde73bca0p-34, 0x1.28d3ceb76b072p-31, -0x1.621f089236dd6p-30,
      0x1.830870612d518p-28, -0x1.de4896fc00f2bp-27, 0x1.dbce8cacb85b5p-25, -0x1.57b5add43ac6bp-23,
      0x1.3c624ddbf0ad4p-21, -0x1.ec278a1b64d3cp-20, 0x1.bf24ea1df3054p-18, -0x1.6e6e6be77f354p-16,
      0x1.55a5156812d5fp-14, -0x1.27a7dc203a7edp-12, 0x1.2bc4a09ca7cbdp-10, -0x1.1ad620f952c3bp-8,
      0x1.93de9435ef192p-6, 0x1.f51d47fb09a25p-1);
  const double decay = double_exp_of_normal(-zeta) * (1 - argument.zeta.low);
  constexpr double half_inverse_root_pi = 0x1.20dd750429b6dp-2;
  return half_inverse_root_pi * decay * share / __builtin_sqrt(argument.root);
}
/// For -10000 <= x <= airy_wave: DLMF 9.7.9.
static TENON_INLINE double double_airy_wave(double x) {
  const AiryArgument argument = double_airy_argument(-x);
  const double inverse = 1 / argument.zeta.high, s = 0x1.bc71c71c71c72p+5 * inverse * inverse;
  const double p = double_horner(s, -0x1.558536eee4db0p-33, 0x1.50be2574d3c21p-30, -0x1.35b096e4e179dp-28,
                                 0x1.6727a52442183p-27, -0x1.30977ec4dbd27p-26, 0x1.ac14927d7bd7cp-26,
                                 -0x1.2048477ffd0dfp-25, 0x1.b9854ff8a8a2bp-25, -0x1.c2dcea19c7dfep-24,
                                 0x1.5b17587f85234p-22, -0x1.c87d97c328520p-20, 0x1.395ed97035b1ep-16,
                                 -0x1.5e6f8091a15c1p-11, 0x1.0000000000000p+0);
  const double q =
      inverse * double_horner(s, 0x1.2c3100c189b7fp-30, -0x1.35708bb29357bp-27, 0x1.28053ba69e03fp-25,
                              -0x1.60875b0678a91p-24, 0x1.2a67e46361e3ep-23, -0x1.8b5d4425b7f23p-23,
                              0x1.c5c774cf90f01p-23, -0x1.0093f6f4e6087p-22, 0x1.4c5179c4c3a1ep-22,
                              -0x1.1a3351ca6e50ap-21, 0x1.5bc324028f2c2p-20, -0x1.5780071417e7dp-18,
                              0x1.3b8bf3d26077dp-15, -0x1.668c28492478bp-11, 0x1.1c71c71c71c72p-4);
  const DoubleTurn turn = double_turn(argument.zeta.high, argument.zeta.low);
  constexpr double inverse_root_two_pi = 0x1.9884533d43651p-2;
  const double wave = p * (turn.cosine + turn.sine) + q * (turn.sine - turn.cosine);
  return inverse_root_two_pi * wave / __builtin_sqrt(argument.root);
}

}  // namespace tenon::cpu::TENON_ISA
