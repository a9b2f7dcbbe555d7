// Events of a trace.
#include "report/trace.h"

namespace tenon {
namespace {

using nlohmann::ordered_json;

constexpr int pipeline_process = 1, run_process = 2;  // processes
constexpr int stages_track = 1, passes_track = 2;     // threads of the first
constexpr int runs_track = 1, steps_track = 2;        // threads of the second; behind them the workers

class Trace {
 public:
  void name(const char* kind, int process, int thread, const std::string& text) {
    events_.push_back(
        {{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", text}}}});
  }
  void span(const std::string& name, int process, int thread, double us, double duration_us,
            ordered_json args) {
    events_.push_back({{"name", name},
                       {"cat", process == pipeline_process ? "pipeline" : "run"},
                       {"ph", "X"},
                       {"pid", process},
                       {"tid", thread},
                       {"ts", us},
                       {"dur", duration_us},
                       {"args", std::move(args)}});
  }
  void counter(const std::string& name, double us, std::size_t value) {
    events_.push_back({{"name", name},
                       {"ph", "C"},
                       {"pid", run_process},
                       {"tid", steps_track},
                       {"ts", us},
                       {"args", {{"bytes", value}}}});
  }
  ordered_json take() { return std::move(events_); }

 private:
  ordered_json events_ = ordered_json::array();
};

double add_stages(Trace& trace, const std::vector<PipelineStage>& stages) {
  double at = 0;
  for (const PipelineStage& stage : stages) {
    trace.span(stage.name, pipeline_process, stages_track, at, stage.ms * 1000, ordered_json::object());
    double pass_at = at;
    for (const PassTime& pass : stage.passes) {
      trace.span(pass.pass, pipeline_process, passes_track, pass_at, pass.ms * 1000,
                 {{"rewrites", pass.rewrites}});
      pass_at += pass.ms * 1000;
    }
    at += stage.ms * 1000;
  }
  return at;
}

void add_run(Trace& trace, const ProfileReport& p, std::size_t number, double offset) {
  const RunTimes& times = p.timeline[number];
  const std::vector<StepTime>& run = times.steps;
  const auto us = [&](std::chrono::steady_clock::time_point t) {
    return offset + std::chrono::duration<double, std::micro>(t - p.timeline[0].steps[0].begin).count();
  };
  trace.span("run " + std::to_string(number + 1), run_process, runs_track, us(run.front().begin),
             us(run.back().end) - us(run.front().begin), {{"threads", p.threads}});
  for (std::size_t i = 0; i < run.size(); ++i) {
    const StepRow& s = p.steps[i];
    trace.span(s.op, run_process, steps_track, us(run[i].begin), run[i].ms() * 1000,
               {{"step", s.index},
                {"kernel", s.kernel},
                {"module", s.module},
                {"flops", s.flops},
                {"bytes", s.bytes},
                {"node", s.name}});
    trace.counter("live arena", us(run[i].begin), s.live_bytes);
  }
  trace.counter("live arena", us(run.back().end), 0);
  std::size_t step = 0;
  for (const WorkSpan& span : times.threads) {
    if (span.thread == 0) continue;  // the steps themselves
    while (step + 1 < run.size() && run[step + 1].begin <= span.begin) ++step;
    while (step > 0 && run[step].begin > span.begin) --step;
    trace.span(p.steps[step].op, run_process, steps_track + span.thread, us(span.begin),
               us(span.end) - us(span.begin), {{"step", step}});
  }
}

}  // namespace

ordered_json to_trace(const ProfileReport& p) {
  Trace trace;
  trace.name("process_name", pipeline_process, 0, "pipeline of " + p.model.path);
  trace.name("thread_name", pipeline_process, stages_track, "stages");
  trace.name("thread_name", pipeline_process, passes_track, "passes of fusion");
  trace.name("process_name", run_process, 0,
             "run on " + p.device + ", " + std::to_string(p.threads) + " threads");
  trace.name("thread_name", run_process, runs_track, "runs");
  trace.name("thread_name", run_process, steps_track, "steps (main thread)");
  for (int worker = 1; worker < p.threads; ++worker)
    trace.name("thread_name", run_process, steps_track + worker, "worker " + std::to_string(worker));
  const double begin = add_stages(trace, p.stages);
  for (std::size_t i = 0; i < p.timeline.size(); ++i)
    if (!p.timeline[i].steps.empty()) add_run(trace, p, i, begin);
  return {{"displayTimeUnit", "ms"}, {"traceEvents", trace.take()}};
}

}  // namespace tenon
