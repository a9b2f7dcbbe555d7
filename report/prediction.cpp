#include "report/prediction.h"

#include <algorithm>

#include "base/count.h"
#include "base/version.h"
#include "report/profile_json.h"
#include "report/table.h"

namespace tenon {
namespace {

using nlohmann::ordered_json;

std::string milliseconds(double ms) { return fmt::format("{:.3g}", ms); }
std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string head(const PredictionReport& r) {
  const Prediction& p = r.prediction;
  std::string text = fmt::format("{} on {} ({}), {}: {} ms, {:.0f}% interval {} to {}\n", r.model.path,
                                 r.machine.device, r.machine.hardware, counted(r.threads, "thread"),
                                 milliseconds(p.ms), 100 * CostModel::shipped().coverage(),
                                 milliseconds(p.interval.low), milliseconds(p.interval.high));
  for (const auto& [symbol, size] : r.sizes) text += fmt::format("  {}={}", symbol, size);
  if (!r.sizes.empty()) text += "\n";
  if (p.measured > 0) text += fmt::format("  {} of it was measured on this device\n", percent(p.measured));
  if (p.covered < 1)
    text += fmt::format("  {} of it is not covered: no records are like these steps, the time is a guess\n",
                        percent(1 - p.covered));
  if (!p.calibrated)
    text += fmt::format(
        "  there is no calibration of {} with {} (tenon doctor --calibrate): the interval is wide\n",
        r.machine.hardware, counted(r.threads, "thread"));
  return text + "\n";
}

ordered_json latency(const Prediction& p) {
  return {{"median", p.ms}, {"low", p.interval.low}, {"high", p.interval.high}};
}

std::string range(const Interval& i) { return milliseconds(i.low) + " to " + milliseconds(i.high); }

std::string left_out(std::size_t all, std::size_t shown, std::string_view what) {
  return shown < all
             ? fmt::format("{} in all; the {} slowest are shown (--top 0: all)\n", counted(all, what), shown)
             : "";
}

std::string steps(const PredictionReport& r, std::size_t top) {
  constexpr std::size_t width = 36;
  std::vector<std::size_t> order(r.steps.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return r.steps[i].ms; });
  if (top > 0 && top < order.size()) order.resize(top);
  Table table({"#", "ms", "from", "to", "share", "basis", "kernel", "module"});
  for (const std::size_t i : order) {
    const Estimate& e = r.prediction.steps[i];
    const StepRow& s = r.steps[i];
    table.add({std::to_string(i), milliseconds(e.ms), milliseconds(e.interval.low),
               milliseconds(e.interval.high), percent(s.share), std::string(name(e.basis)),
               shorten(s.kernel, width), shorten(s.module, width)});
  }
  return table.str() + left_out(r.steps.size(), order.size(), "step");
}

std::string sums(const PredictionReport& r, TimesBy by, std::size_t top, int depth) {
  std::vector<TimeRow> rows = summed(r.steps, by, depth);
  const std::size_t all = rows.size();
  if (top > 0 && top < all) rows.resize(top);
  Table table({"ms", "share", "steps", name(by)});
  for (const TimeRow& row : rows)
    table.add({milliseconds(row.ms), percent(row.share), std::to_string(row.steps),
               row.name.empty() ? "(not attributed)" : row.name});
  return table.str() + left_out(all, rows.size(), name(by));
}

}  // namespace

PredictionReport prediction_report(const Model& model, const Plan& plan, Bindings sizes,
                                   const MachineDescription& machine, int threads,
                                   const Calibration& calibration) {
  PredictionReport report{.model = model_info(model),
                          .sizes = std::move(sizes),
                          .machine = machine,
                          .threads = threads,
                          .prediction = predict(plan, machine, threads, CostModel::shipped(), calibration)};
  std::vector<double> ms;
  for (const Estimate& e : report.prediction.steps) ms.push_back(e.ms);
  report.steps = step_rows(plan, ms, machine.of(threads).peak);
  return report;
}

ordered_json to_json(const PredictionReport& r) {
  const Prediction& p = r.prediction;
  ordered_json out{{"schema", "tenon.prediction/1"},
                   {"tenon", version()},
                   {"model", to_json(r.model)},
                   {"machine", to_json(r.machine)},
                   {"threads", r.threads},
                   {"sizes", r.sizes},
                   {"coverage", CostModel::shipped().coverage()},
                   {"trained_on", CostModel::shipped().digest()},
                   {"latency_ms", latency(p)},
                   {"measured", p.measured},
                   {"covered", p.covered},
                   {"calibrated", p.calibrated},
                   {"steps", ordered_json::array()},
                   {"modules", ordered_json::array()}};
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    const StepRow& s = r.steps[i];
    const Estimate& e = p.steps[i];
    out["steps"].push_back({{"index", i},
                            {"name", s.name},
                            {"op", s.op},
                            {"kernel", s.kernel},
                            {"module", s.module},
                            {"key", s.features.key},
                            {"ms", e.ms},
                            {"low", e.interval.low},
                            {"high", e.interval.high},
                            {"basis", name(e.basis)},
                            {"share", s.share},
                            {"flops", s.flops},
                            {"bytes", s.bytes}});
  }
  for (const TimeRow& m : summed(r.steps, TimesBy::module))
    out["modules"].push_back(
        {{"module", m.name}, {"ms", m.ms}, {"share", m.share}, {"estimated", m.estimated}});
  if (r.alternatives.empty()) return out;
  out["alternatives"] = ordered_json::array();
  for (const Alternative& a : r.alternatives)
    out["alternatives"].push_back(
        {{"what", a.what}, {"latency_ms", latency(a.prediction)}, {"covered", a.prediction.covered}});
  return out;
}

ordered_json to_json(std::span<const PredictionReport> reports) {
  ordered_json out{{"schema", "tenon.predictions/1"}, {"predictions", ordered_json::array()}};
  for (const PredictionReport& r : reports) out["predictions"].push_back(to_json(r));
  return out;
}

std::string to_text(const PredictionReport& r, TimesBy by, std::size_t top, int depth) {
  return head(r) + (by == TimesBy::step ? steps(r, top) : sums(r, by, top, depth));
}

std::string alternatives_text(const PredictionReport& r) {
  if (r.alternatives.empty()) return "";
  std::vector<const Alternative*> order;
  for (const Alternative& a : r.alternatives) order.push_back(&a);
  std::ranges::stable_sort(order, {}, [](const Alternative* a) { return a->prediction.ms; });
  Table table({"ms", "interval", "times as fast", "what if"});
  for (const Alternative* a : order)
    table.add({milliseconds(a->prediction.ms), range(a->prediction.interval),
               fmt::format("{:.2f}", r.prediction.ms / a->prediction.ms), a->what});
  return "\n" + table.str();
}

std::string devices_text(std::span<const PredictionReport> reports) {
  Table table({"ms", "interval", "ratio", "covered", "calibrated", "threads", "device"});
  for (const PredictionReport& r : reports) {
    const Prediction& p = r.prediction;
    table.add({milliseconds(p.ms), range(p.interval), fmt::format("{:.2f}", p.ms / reports[0].prediction.ms),
               percent(p.covered), p.calibrated ? "yes" : "no", std::to_string(r.threads),
               r.machine.hardware});
  }
  return fmt::format("{}\n\n{}", reports[0].model.path, table.str());
}

}  // namespace tenon
