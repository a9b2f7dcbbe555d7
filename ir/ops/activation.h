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

/// scale * x above zero, alpha * scale * (exp(input_scale * x) - 1) below.
struct Elu : Pointwise<1> {
  static constexpr std::string_view name = "elu";
  double alpha = 1, scale = 1, input_scale = 1;
  static constexpr auto fields = std::tuple{field("alpha", &Elu::alpha), field("scale", &Elu::scale),
                                            field("input_scale", &Elu::input_scale)};
  Expr value(Expr x) const { return select(x > 0, x * scale, expm1(x * input_scale) * (alpha * scale)); }
  static constexpr std::array from = {aten("elu(self, alpha=alpha, scale=scale, input_scale=input_scale)"),
                                      onnx("Elu(x, alpha=alpha)")};
};

struct Selu : Pointwise<1> {
  static constexpr std::string_view name = "selu";
  Expr value(Expr x) const {
    constexpr double alpha = 1.6732632423543772848170429916717;
    constexpr double scale = 1.0507009873554804934193349852946;
    return Elu{.alpha = alpha, .scale = scale}.value(x);
  }
  static constexpr std::array from = {aten("selu(self)")};
};

struct Celu : Pointwise<1> {
  static constexpr std::string_view name = "celu";
  double alpha = 1;
  static constexpr auto fields = std::tuple{field("alpha", &Celu::alpha)};
  Expr value(Expr x) const { return Elu{.alpha = alpha, .input_scale = 1 / alpha}.value(x); }
  static constexpr std::array from = {aten("celu(self, alpha=alpha)"), onnx("Celu(x, alpha=alpha)")};
};

struct Mish : Pointwise<1> {
  static constexpr std::string_view name = "mish";
  Expr value(Expr x) const { return x * tanh(log1p(exp(x))); }
  static constexpr std::array from = {aten("mish(self)"), onnx("Mish(x)")};
};

/// log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold.
struct Softplus : Pointwise<1> {
  static constexpr std::string_view name = "softplus";
  double beta = 1, threshold = 20;
  static constexpr auto fields =
      std::tuple{field("beta", &Softplus::beta), field("threshold", &Softplus::threshold)};
  Expr value(Expr x) const { return select(x * beta > threshold, x, log1p(exp(x * beta)) / beta); }
  static constexpr std::array from = {aten("softplus(self, beta=beta, threshold=threshold)"),
                                      onnx("Softplus(x)")};
};

struct Hardsigmoid : Pointwise<1> {
  static constexpr std::string_view name = "hardsigmoid";
  Expr value(Expr x) const { return min(max(x + 3, 0), 6) / 6; }
  static constexpr std::array from = {aten("hardsigmoid(self)")};
};

struct Hardswish : Pointwise<1> {
  static constexpr std::string_view name = "hardswish";
  Expr value(Expr x) const { return x * min(max(x + 3, 0), 6) / 6; }
  static constexpr std::array from = {aten("hardswish(self)"), onnx("HardSwish(x)")};
};

/// Zero in [-lambda, lambda].
struct Hardshrink : Pointwise<1> {
  static constexpr std::string_view name = "hardshrink";
  double lambda = 0.5;
  static constexpr auto fields = std::tuple{field("lambda", &Hardshrink::lambda)};
  Expr value(Expr x) const { return select(abs(x) <= lambda, 0, x); }
  static constexpr std::array from = {aten("hardshrink(self, lambda=lambd)")};
};

/// Towards zero by lambda. NaN stays.
struct Softshrink : Pointwise<1> {
  static constexpr std::string_view name = "softshrink";
  double lambda = 0.5;
  static constexpr auto fields = std::tuple{field("lambda", &Softshrink::lambda)};
  Expr value(Expr x) const { return x - min(max(x, -lambda), lambda); }
  static constexpr std::array from = {aten("softshrink(self, lambda=lambd)")};
};

struct Tanhshrink : Pointwise<1> {
  static constexpr std::string_view name = "tanhshrink";
  Expr value(Expr x) const { return x - tanh(x); }
  static constexpr std::array from = {aten("tanhshrink(self)")};
};

struct LogSigmoid : Pointwise<1> {
  static constexpr std::string_view name = "log_sigmoid";
  Expr value(Expr x) const { return select(x < 0, x, 0) - log1p(exp(select(x < 0, x, -x))); }
  static constexpr std::array from = {aten("log_sigmoid(self)")};
};

struct Softsign : Pointwise<1> {
  static constexpr std::string_view name = "softsign";
  static constexpr bool real_operands = true;
  Expr value(Expr x) const { return x / (1 + abs(x)); }
  static constexpr std::array from = {aten("softsign(self)"), onnx("Softsign(x)")};
};

/// `value` where x does not exceed the threshold.
struct Threshold : Pointwise<1> {
  static constexpr std::string_view name = "threshold";
  double threshold = 0, replacement = 0;
  static constexpr auto fields =
      std::tuple{field("threshold", &Threshold::threshold), field("value", &Threshold::replacement)};
  Expr value(Expr x) const { return select(x <= threshold, replacement, x); }
  static constexpr std::array from = {aten("threshold(self, threshold=threshold, value=value)")};
};

/// x above zero, weight * x below; the weight broadcasts as it is.
struct Prelu : Pointwise<2> {
  static constexpr std::string_view name = "prelu";
  Expr value(Expr x, Expr weight) const { return select(x > 0, x, x * weight); }
  static constexpr std::array from = {aten("_prelu_kernel(self, weight)"), onnx("PRelu(x, slope)")};
};

using Activation =
    OpList<Relu, LeakyRelu, Sigmoid, Silu, Gelu, Elu, Selu, Celu, Mish, Softplus, Hardsigmoid, Hardswish,
           Hardshrink, Softshrink, Tanhshrink, LogSigmoid, Softsign, Threshold, Prelu>;

}  // namespace tenon
