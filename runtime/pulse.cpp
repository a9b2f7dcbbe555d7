#include "runtime/pulse.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "ir/parse.h"
#include "runtime/inputs.h"
#include "runtime/session.h"

namespace tenon {

struct Pulse::Product {
  Product(const Device& device, int threads)
      : session(parse("graph pulse(%x: f32[192,192]) { %1 = matmul(%x, %x) return %1 }"),
                {.threads = threads, .device = &device}),
        inputs(input_values(session.graph(), {}, 0)),
        outputs(session.run(inputs)) {}

  double ms() {
    const auto begin = std::chrono::steady_clock::now();
    session.run_into(inputs, outputs);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  Session session;
  std::vector<Tensor> inputs, outputs;
};

Pulse::Pulse(const Device& device, int threads)
    : product_(std::make_unique<Product>(device, threads)), least_(std::numeric_limits<double>::infinity()) {
  constexpr double learning_ms = 100;
  for (double spent = 0; spent < learning_ms;) spent += beat();
}
Pulse::~Pulse() = default;
Pulse::Pulse(Pulse&&) noexcept = default;

double Pulse::beat() {
  constexpr int turns = 3;
  double ms = product_->ms();
  for (int i = 1; i < turns; ++i) ms = std::min(ms, product_->ms());
  least_ = std::min(least_, ms);
  return ms;
}

}  // namespace tenon
