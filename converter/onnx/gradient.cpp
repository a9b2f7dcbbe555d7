// Gradients that a model computes of itself.
#include "ir/gradient.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// What a name of the graph holds.
Operand named(const Call& call, const std::string& name) {
  GraphProto reader;
  reader.add_output()->set_name(name);
  return call.run_graph(reader, {}).at(0);
}

/// dy/dx for each x. The operator's inputs are values for the names in xs and zs; here they must be these
/// names.
Operands gradient_of(Call& call) {
  const std::vector<std::string> xs = call.texts("xs");
  std::vector<std::string> given = xs;
  for (const std::string& z : call.texts("zs")) given.push_back(z);
  const auto& inputs = call.node.input();
  if (!std::equal(given.begin(), given.end(), inputs.begin(), inputs.end()))
    throw unsupported("the gradient at another place than the graph is computed at");
  std::vector<Ref> wrt;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    wrt.push_back(call.tensor(i));
    if (wrt.back().value()->is_constant())
      throw unsupported("the gradient with respect to '{}', which is a constant", xs[i]);
  }
  const Ref y = call.values.read(named(call, call.text("y", "")));
  if (!is_float(y.dtype())) throw unsupported("the gradient of {}", y.type().str());
  const Ref seed = full(y.shape(), 1, y.dtype(), call.build.insertion_point());
  const std::vector<Ref> grads = gradient(std::array{y}, std::array{seed}, wrt);
  Operands out;
  for (std::size_t i = 0; i < wrt.size(); ++i) out.emplace_back(grads[i] ? grads[i] : zeros_like(wrt[i]));
  return out;
}

}  // namespace

std::span<const OnnxEntry> gradient_entries() {
  static constexpr std::array entries = {OnnxEntry{"ai.onnx.preview.training.Gradient", gradient_of}};
  return entries;
}

}  // namespace tenon::converter::onnx
