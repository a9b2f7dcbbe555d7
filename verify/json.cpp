#include "verify/json.h"

#include "verify/number_json.h"

namespace tenon {

using nlohmann::json;

namespace {

json element(const Difference& d, std::complex<double> number, const std::string& text) {
  return text.empty() ? number_json(number, d.is_complex) : json(text);
}

}  // namespace

json to_json(const Difference& d) {
  if (!d.comparable) return {{"comparable", false}};
  return {{"comparable", true},
          {"max_error", d.max_error},
          {"relative", d.relative()},
          {"largest", d.scale},
          {"worst", d.worst},
          {"value", element(d, d.value, d.text)},
          {"expected", element(d, d.expected, d.expected_text)},
          {"compared", d.compared},
          {"cosine", d.cosine}};
}

json to_json(const OutputCheck& c) {
  json histogram = json::array();
  for (const auto& bucket : c.spread.buckets)
    histogram.push_back({{"below", bucket.below}, {"count", bucket.count}});
  json out = to_json(c.difference);
  out.update({{"name", c.name},
              {"ok", c.ok},
              {"type", c.type},
              {"expected_type", c.expected_type},
              {"types_only", c.types_only},
              {"dtype", name(c.dtype)},
              {"expected_dtype", name(c.expected_dtype)},
              {"mean_error", c.spread.mean},
              {"elements", c.spread.elements},
              {"exact", c.spread.exact},
              {"infinite", c.spread.infinite},
              {"beyond", c.spread.beyond},
              {"needed_tolerance", c.needed_tolerance()},
              {"needed_rtol", c.spread.needed_rtol},
              {"histogram", histogram}});
  return out;
}

json to_json(const Divergence& d) {
  return {{"stage", name(d.stage)},
          {"node", d.what},
          {"place", d.location},
          {"replaced", d.replaced},
          {"rounding", d.rounding},
          {"sample", d.sample},
          {"difference", to_json(d.difference)}};
}

json to_json(const RewriteSearch& search) {
  if (!search.problem.empty()) return {{"problem", search.problem}};
  if (search.without_any) return {{"without_any_rewrite", to_json(*search.without_any)}};
  if (!search.wrong) return nullptr;
  const WrongRewrite& w = *search.wrong;
  return {{"number", w.rewrite.number},
          {"of", w.rewrites},
          {"pass", w.rewrite.pass},
          {"rule", w.rewrite.rule},
          {"text", w.rewrite.text},
          {"place", w.rewrite.location},
          {"sample", w.sample},
          {"with", to_json(w.difference)},
          {"before", to_json(w.before)},
          {"off", to_json(w.off)},
          {"right_when_off", w.right_when_off}};
}

json to_json(const Property& p) {
  return {{"name", p.name},
          {"verdict", name(p.outcome)},
          {"ok", p.ok()},
          {"detail", p.detail},
          {"difference", to_json(p.difference)}};
}

json to_json(const GraphDifference& d) {
  return {{"why", d.why}, {"a", d.a}, {"place_a", d.location_a}, {"b", d.b}, {"place_b", d.location_b}};
}

std::string json_text(const json& record) {
  return record.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace tenon
