// A prediction, ready to be written as text and JSON (schema tenon.prediction/1, docs/prediction.md).
#pragma once
#include <nlohmann/json.hpp>

#include "report/profile.h"
#include "runtime/cost/predict.h"

namespace tenon {

/// The same model where one thing is different.
struct Alternative {
  std::string what;  // "--threads 2"
  Prediction prediction;
};

struct PredictionReport {
  ModelInfo model;
  Bindings sizes;
  MachineDescription machine;
  int threads = 1;
  Prediction prediction;
  std::vector<StepRow> steps;             // with predicted times
  std::vector<Alternative> alternatives;  // where they were asked for
};

/// The model's plan for these inputs.
PredictionReport prediction_report(const Model&, const Plan&, Bindings sizes, const MachineDescription&,
                                   int threads, const Calibration& calibration);

nlohmann::ordered_json to_json(const PredictionReport&);
/// The whole, and at most `top` lines (0: all); modules down to `depth` names (0: all).
std::string to_text(const PredictionReport&, TimesBy by, std::size_t top, int depth = 0);
/// What would help, the most first; empty where nothing was asked for.
std::string alternatives_text(const PredictionReport&);

/// One model on several devices, beside the first.
nlohmann::ordered_json to_json(std::span<const PredictionReport>);
std::string devices_text(std::span<const PredictionReport>);

}  // namespace tenon
