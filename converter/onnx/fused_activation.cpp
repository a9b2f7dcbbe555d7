#include "converter/onnx/fused_activation.h"

#include "base/error.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

Ref activated(const Call& call, const Ref& y) {
  const std::string name = call.text("activation", "");
  const std::vector<float> listed = call.numbers("activation_params");
  const auto number = [&](std::size_t i, const char* attribute, double fallback) {
    return i < listed.size() ? static_cast<double>(listed[i]) : call.number(attribute, fallback);
  };
  const auto alpha = [&](double fallback) { return number(0, "activation_alpha", fallback); };
  const auto beta = [&](double fallback) { return number(1, "activation_beta", fallback); };
  if (name.empty()) return y;
  if (name == "Relu") return relu(y);
  if (name == "Sigmoid") return sigmoid(y);
  if (name == "Tanh") return tanh(y);
  if (name == "LeakyRelu") return apply(LeakyRelu{.slope = alpha(0.01)}, {y});
  if (name == "Elu") return apply(Elu{.alpha = alpha(1)}, {y});
  if (name == "HardSigmoid") return apply(Clamp{.min = 0, .max = 1}, {y * alpha(0.2) + beta(0.5)});
  if (name == "Clip" && listed.size() == 2) return apply(Clamp{.min = alpha(0), .max = beta(0)}, {y});
  throw unsupported("its activation {}", name);
}

}  // namespace tenon::converter::onnx
