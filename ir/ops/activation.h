// Activation functions.
#pragma once
#include <numbers>

#include "ir/define.h"

namespace tenon {

struct Relu : Pointwise<1> {
  static constexpr std::string_view name = "relu";
  Expr value(Expr x) const { return max(x, 0); }
  static constexpr std::array from = {aten("relu(self)"), onnx("Relu(x)")};
};

struct LeakyRelu : Pointwise<1> {
  static constexpr std::string_view name = "leaky_relu";
  double slope = 0.01;
  static constexpr auto fields = std::tuple{field("slope", &LeakyRelu::slope)};
  Expr value(Expr x) const { return select(x > 0, x, x * slope); }
  static constexpr std::array from = {aten("leaky_relu(self, slope=negative_slope)"),
                                      onnx("LeakyRelu(x, slope=alpha)")};
};

struct Sigmoid : Pointwise<1> {
  static constexpr std::string_view name = "sigmoid";
  Expr value(Expr x) const { return sigmoid(x); }
  static constexpr std::array from = {aten("sigmoid(self)"), aten("special_expit(self)"), onnx("Sigmoid(x)")};
};

struct Silu : Pointwise<1> {
  static constexpr std::string_view name = "silu";
  Expr value(Expr x) const { return x * sigmoid(x); }
  static constexpr std::array from = {aten("silu(self)"), onnx("Swish(x)")};
};

enum class GeluForm : std::uint8_t { none, tanh };
template <>
struct EnumNames<GeluForm> {
  static constexpr std::array names = {"none", "tanh"};
};

/// x times the normal distribution function (Hendrycks and Gimpel 2016), or its tanh approximation.
struct Gelu : Pointwise<1> {
  static constexpr std::string_view name = "gelu";
  GeluForm approximate = GeluForm::none;
  static constexpr auto fields = std::tuple{field("approximate", &Gelu::approximate)};
  Expr value(Expr x) const {
    if (approximate == GeluForm::none) return x * 0.5 * (1 + erf(x * (1 / std::numbers::sqrt2)));
    constexpr double sqrt_2_over_pi = 0.79788456080286535588;
    return x * 0.5 * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * (x * x * x))));
  }
  static constexpr std::array from = {aten("gelu(self, approximate=approximate)"),
                                      onnx("Gelu(x, approximate=approximate)")};
};

using Activation = OpList<Relu, LeakyRelu, Sigmoid, Silu, Gelu>;

}  // namespace tenon
