#include "runtime/pulse.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "ir/parse.h"
#include "runtime/inputs.h"
#include "runtime/session.h"

namespace tenon {
namespace {

std::int64_t now_in_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// The least time and when it was taken, where that was within the last day.
std::optional<std::pair<double, std::int64_t>> recent(const nlohmann::json& kept) {
  const auto number = [&](const char* name) {
    const auto found = kept.is_object() ? kept.find(name) : kept.end();
    return found != kept.end() && found->is_number() ? found->get<double>() : -1;
  };
  constexpr double day = 24 * 60 * 60;
  const double ms = number("ms"), age = static_cast<double>(now_in_seconds()) - number("since");
  if (!(ms > 0 && age >= 0 && age < day)) return std::nullopt;
  return std::pair(ms, static_cast<std::int64_t>(number("since")));
}

}  // namespace

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
    : product_(std::make_unique<Product>(device, threads)),
      kept_(cache_file("pulse.json"), "tenon.pulse/1", "least"),
      key_(kept_key(device.hardware(), threads)),
      least_(std::numeric_limits<double>::infinity()),
      since_(now_in_seconds()) {
  if (const auto kept = recent(kept_.find(key_))) std::tie(least_, since_) = *kept;
  constexpr double learning_ms = 100;
  for (double spent = 0; spent < learning_ms;) spent += beat();
}

Pulse::~Pulse() {
  const auto kept = recent(kept_.find(key_));  // perhaps another process's by now
  if (!kept || least_ < kept->first) kept_.keep(key_, {{"ms", least_}, {"since", since_}});
}

double Pulse::beat() {
  constexpr int turns = 3;
  double ms = product_->ms();
  for (int i = 1; i < turns; ++i) ms = std::min(ms, product_->ms());
  if (ms < least_) {
    least_ = ms;
    since_ = now_in_seconds();
  }
  return ms;
}

}  // namespace tenon
