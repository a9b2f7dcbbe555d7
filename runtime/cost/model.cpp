// Reads and evaluates the table.
#include "runtime/cost/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "runtime/cost/shipped.h"

namespace tenon {
namespace {

using nlohmann::json;

// A tree's children stand behind it: no walk returns.
void check(const Trees& t, std::size_t inputs) {
  const auto count = static_cast<int>(t.feature.size()), leaves = static_cast<int>(t.leaf.size());
  const auto fits = [&](int child, int parent) {
    return child < 0 ? -child <= leaves : child > parent && child < count;
  };
  bool ok = t.left.size() == t.feature.size() && t.right.size() == t.feature.size() &&
            t.threshold.size() == t.feature.size();
  for (int i = 0; ok && i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ok = t.feature[at] >= 0 && static_cast<std::size_t>(t.feature[at]) < inputs && fits(t.left[at], i) &&
         fits(t.right[at], i);
  }
  for (const int root : t.roots) ok = ok && fits(root, -1);
  if (!ok) throw error("its trees are damaged");
}

double Features::*feature_of(const std::string& name) {
  const auto found = std::ranges::find(feature_table, name, &FeatureInfo::name);
  if (found == feature_table.end()) throw error("it wants a feature that there is not: {}", name);
  return found->value;
}

constexpr std::array additive_terms = {&Features::step_ms, &Features::flop_ms,    &Features::near_ms,
                                       &Features::far_ms,  &Features::element_ms, &Features::planned_ms};

double additive(const std::vector<double>& coefficients, const Features& f) {
  double sum = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i) sum += coefficients[i] * f.*additive_terms[i];
  return sum;
}

}  // namespace

std::string_view name(Basis basis) {
  constexpr std::array names = {"measured", "trees", "additive", "not covered"};
  return names[static_cast<std::size_t>(basis)];
}

double Trees::operator()(const std::vector<double>& inputs) const {
  double sum = 0;
  for (int node : roots) {
    while (node >= 0) {
      const auto at = static_cast<std::size_t>(node);
      node = inputs[static_cast<std::size_t>(feature[at])] <= threshold[at] ? left[at] : right[at];
    }
    sum += leaf[static_cast<std::size_t>(-node - 1)];
  }
  return sum;
}

const CostModel& CostModel::shipped() {
  static const CostModel model = parse(cost::model_json, "the cost model of this program");
  return model;
}

CostModel CostModel::parse(std::string_view text, const std::string& where) {
  try {
    const json j = json::parse(text);
    if (j.at("schema") != "tenon.cost/2") throw error("it is no cost model (tenon.cost/2)");
    CostModel m;
    m.digest_ = j.at("training").at("digest");
    for (const auto& [kernel, of] : j.at("kernels").items()) {
      Kernel& k =
          m.kernels_[kernel] = {of.at("count"), of.at("factor"), of.value("additive", std::vector<double>())};
      if (!k.additive.empty() && k.additive.size() != additive_terms.size())
        throw error("an additive form has {} numbers", additive_terms.size());
    }
    m.trees_from_ = j.at("trees_from");
    m.prior_ = j.at("prior");
    const json& t = j.at("trees");
    std::vector<std::string> inputs = t.at("inputs");
    if (inputs.empty() || inputs.back() != "first_guess") throw error("its last input is no first_guess");
    inputs.pop_back();
    for (const std::string& input : inputs) m.inputs_.push_back(feature_of(input));
    m.trees_ = {t.at("feature"), t.at("left"), t.at("right"), t.at("threshold"), t.at("leaf"), t.at("roots")};
    check(m.trees_, inputs.size() + 1);
    const json& i = j.at("intervals");
    m.coverage_ = i.at("coverage");
    m.spread_ = i.at("step");
    m.not_covered_ = i.at("not_covered");
    m.kernel_spread_ = i.at("kernel").get<std::map<std::string, double>>();
    m.run_ = i.at("model");
    m.run_from_1_ms_ = i.at("model_from_1_ms").is_null() ? m.run_ : i.at("model_from_1_ms").get<double>();
    return m;
  } catch (const json::exception& e) {
    throw error("the cost model cannot be read: {}", e.what()).at(where);
  } catch (Error& e) {
    if (e.where().empty()) e.at(where);
    throw;
  }
}

double CostModel::boosted(const Features& f, double guess) const {
  std::vector<double> inputs;
  for (const auto input : inputs_) inputs.push_back(f.*input);
  inputs.push_back(std::log(guess / f.roofline_ms));
  return guess * std::exp(trees_(inputs));
}

namespace {

// A kernel that has no records, and the one of the same work whose time, times a factor, it takes.
struct Relative {
  std::string_view kernel, like;
  double factor;
};
constexpr Relative relatives[] = {
    {"strassen", "gemm", 0.92},        // 0.90 to 0.95 (docs/performance.md#strassens-method)
    {"gemm in pieces", "gemm", 0.67},  // 0.53 to 0.8 (docs/performance.md#amx)
    {"pool of rows", "pool", 0.5},     // 0.35 to 0.6
    {"narrow groups", "gemm", 0.5},    // 0.15 to 0.95 (docs/performance.md#narrow-groups)
    {"winograd line", "gemm", 0.6},    // 0.45 to 0.8 (docs/performance.md#convolutions-along-one-axis)
};

}  // namespace

Estimate CostModel::step(const std::string& kernel, const Features& f) const {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end())
    if (const auto* const r = std::ranges::find(relatives, kernel, &Relative::kernel);
        r != std::end(relatives))
      return step(std::string(r->like), f).times(r->factor);
  const Kernel none{.factor = prior_};
  const Kernel& k = found == kernels_.end() ? none : found->second;
  const double sum = additive(k.additive, f);
  Estimate e{.ms = sum > 0 ? sum : f.roofline_ms * std::exp(k.factor),
             .basis = sum > 0 ? Basis::additive : Basis::roofline};
  if (k.count >= trees_from_) e = {.ms = boosted(f, e.ms), .basis = Basis::trees};
  const auto own = kernel_spread_.find(kernel);
  const double spread = e.basis == Basis::roofline    ? not_covered_
                        : own == kernel_spread_.end() ? spread_
                                                      : own->second;
  e.interval = {e.ms / spread, e.ms * spread};
  return e;
}

double CostModel::run_factor(double ms) const { return ms >= 1 ? run_from_1_ms_ : run_; }

}  // namespace tenon
