// The cost model evaluates its table, says what it rests on, and refuses a damaged one.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/temporary_path.h"
#include "runtime/cost/model.h"
#include "runtime/cost/predict.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

using nlohmann::json;

// Two trees: rows <= 10 ? 0.5 : (first_guess <= 0 ? 1 : 2), and a lone leaf of 0.25.
json table() {
  return json::parse(R"({
    "schema": "tenon.cost/2", "training": {"digest": "d"}, "trees_from": 30, "prior": 1,
    "kernels": {"many": {"count": 30, "factor": 0.5}, "few": {"count": 12, "factor": 0.5, "additive": [1, 2, 3, 4, 5, 6]},
                "once": {"count": 1, "factor": 0.25}},
    "trees": {"inputs": ["rows", "first_guess"], "roots": [0, -4], "feature": [0, 1], "threshold": [10, 0],
              "left": [-1, -2], "right": [1, -3], "leaf": [0.5, 1, 2, 0.25]},
    "intervals": {"coverage": 0.9, "step": 2, "not_covered": 8, "kernel": {"many": 1.5}, "model": 1.4, "model_from_1_ms": 1.2}})");
}

CostModel model(const json& j) { return CostModel::parse(j.dump(), "here"); }

std::string refusal(const json& j) {
  try {
    model(j);
  } catch (const Error& e) {
    EXPECT_EQ(e.where(), "here");
    return e.message();
  }
  return "";
}

constexpr Features small{.rows = 10,
                         .gflops = 1,
                         .step_ms = 1,
                         .flop_ms = 10,
                         .near_ms = 100,
                         .far_ms = 1000,
                         .element_ms = 1e4,
                         .planned_ms = 1e5,
                         .roofline_ms = 7};

// Until it has records of its own.
TEST(CostModel, AKernelWithoutRecordsTakesAShareOfItsRelativesTime) {
  json j = table();
  j["kernels"]["gemm"] = j["kernels"]["many"];
  const Estimate like = model(j).step("gemm", small), e = model(j).step("strassen", small);
  EXPECT_EQ(e.basis, Basis::trees);
  EXPECT_DOUBLE_EQ(e.ms, 0.92 * like.ms);
  EXPECT_DOUBLE_EQ(e.interval.high, 0.92 * like.interval.high);
  j["kernels"]["strassen"] = j["kernels"]["once"];
  EXPECT_EQ(model(j).step("strassen", small).basis, Basis::roofline);
}

TEST(CostModel, TreesLeadToTheSumOfTheirLeaves) {
  const CostModel m = model(table());
  const Estimate e = m.step("many", small);
  EXPECT_EQ(e.basis, Basis::trees);
  EXPECT_DOUBLE_EQ(e.ms, 7 * std::exp(0.5 + 0.5 + 0.25));
  EXPECT_DOUBLE_EQ(e.interval.low, e.ms / 1.5);
  EXPECT_DOUBLE_EQ(e.interval.high, e.ms * 1.5);
  Features large = small;
  large.rows = 11;
  EXPECT_DOUBLE_EQ(m.step("many", large).ms, 7 * std::exp(0.5 + 2 + 0.25));
}

TEST(CostModel, KernelsOfFewRecordsTakeTheAdditiveForm) {
  const Estimate e = model(table()).step("few", small);
  EXPECT_EQ(e.basis, Basis::additive);
  EXPECT_DOUBLE_EQ(e.ms, 1 + 2 * 10 + 3 * 100 + 4 * 1000 + 5e4 + 6e5);
  EXPECT_DOUBLE_EQ(e.interval.high, e.ms * 2);
}

TEST(CostModel, WhatNobodyMeasuredIsNotCovered) {
  const CostModel m = model(table());
  EXPECT_EQ(m.step("never", small).basis, Basis::roofline);
  EXPECT_DOUBLE_EQ(m.step("never", small).ms, 7 * std::exp(1.0));
  EXPECT_DOUBLE_EQ(m.step("once", small).ms, 7 * std::exp(0.25));
  EXPECT_DOUBLE_EQ(m.step("never", small).interval.high, 8 * 7 * std::exp(1.0));
  EXPECT_EQ(name(m.step("never", small).basis), "not covered");
}

TEST(CostModel, ADamagedTableIsRefused) {
  const auto with = [](const char* where, const json& what) {
    json j = table();
    j[json::json_pointer(where)] = what;
    return refusal(j);
  };
  EXPECT_EQ(refusal(table()), "");
  EXPECT_EQ(with("/trees/right/1", 0), "its trees are damaged");  // a circle
  EXPECT_EQ(with("/trees/right/1", -5), "its trees are damaged");
  EXPECT_EQ(with("/trees/feature/1", 2), "its trees are damaged");
  EXPECT_EQ(with("/trees/inputs/0", "color"), "it wants a feature that there is not: color");
  EXPECT_EQ(with("/schema", "other"), "it is no cost model (tenon.cost/2)");
  EXPECT_NE(with("/trees/roots", "x").find("cannot be read"), std::string::npos);
}

const char* const product = R"(graph g(%x: f32[64,64]) {
  %1 = matmul(%x, %x) : f32[64,64]
  %2 = matmul(%1, %x) : f32[64,64]
  return %2
})";

const MachineDescription machine{
    .device = "cpu",
    .hardware = "h",
    .isa = "avx2",
    .cores = 2,
    .l2_bytes = 1 << 20,
    .l3_bytes = 1 << 25,
    .rates = {{1, {.gflops = 100, .gbs = 10, .l2_gbs = 80, .l3_gbs = 30}, 1e-4}}};

TEST(Predict, ARunIsTheSumOfItsSteps) {
  const auto graph = graph_of(product);
  const auto plan = Session(graph).plan_for(inputs_of(*graph, {}));
  const Prediction p = predict(*plan, machine, 1, CostModel::shipped());
  ASSERT_EQ(p.steps.size(), 2u);
  EXPECT_DOUBLE_EQ(p.ms, p.steps[0].ms + p.steps[1].ms);
  EXPECT_GT(p.steps[0].ms, 2.0 * 64 * 64 * 64 / 100e6 / 4);  // no four times the peak
  EXPECT_LT(p.interval.low, p.ms);
  EXPECT_GT(p.interval.high, p.ms);
  EXPECT_EQ(p.measured, 0);
}

TEST(Predict, AMeasuredStepGoesBeforeTheModel) {
  const auto graph = graph_of(product);
  const auto plan = Session(graph).plan_for(inputs_of(*graph, {}));
  const std::string key = features_of(*plan)[1].key;
  const std::vector<StepRecord> records{{.key = key, .kernel = "another", .features = small, .ms = 5}};
  const Prediction p = predict(*plan, machine, 1, CostModel::shipped(),
                               Calibration(records, CostModel::shipped(), machine.of(1)));
  EXPECT_EQ(p.steps[1].basis, Basis::measured);
  EXPECT_EQ(p.steps[1].ms, 5);
  EXPECT_NE(p.steps[0].basis, Basis::measured);
  EXPECT_NEAR(p.measured, 5 / p.ms, 1e-9);
}

std::vector<StepRecord> many_records(const CostModel& m, double times) {
  std::vector<StepRecord> records;
  for (int i = 0; i < 1000; ++i)
    records.push_back({std::to_string(i), "many", small, times * m.step("many", small).ms});
  return records;
}

TEST(Calibration, AKernelHasTheFactorOfItsRecordsAndTheOthersThatOfTheDevice) {
  const CostModel m = model(table());
  EXPECT_EQ(KernelFactors().of("many"), 1);
  std::vector<StepRecord> records = many_records(m, 2);
  const KernelFactors alike = factors_of(records, m);
  EXPECT_NEAR(alike.of("many"), 2, 1e-9);
  EXPECT_NEAR(alike.of("few"), 2, 1e-9);  // of which there is no record
  records.push_back({"other", "few", small, m.step("few", small).ms});
  const double one = factors_of(records, m).of("few");
  EXPECT_GT(one, 1.5);  // a single record moves it little
  EXPECT_LT(one, 2);
}

TEST(Calibration, StepsThatWereMeasuredAreKnownByTheirKeys) {
  const CostModel m = model(table());
  const std::vector<StepRecord> records = many_records(m, 2);
  const Calibration c(records, m, {});
  EXPECT_DOUBLE_EQ(*c.measured_ms("7"), records[7].ms);
  EXPECT_FALSE(c.measured_ms("other"));
  EXPECT_FALSE(c.factors_alone().measured_ms("7"));
  EXPECT_NEAR(c.factors_alone().factors().of("many"), 2, 1e-9);
}

TEST(Calibration, RecordsSayWhatTheMachinesOwnFactorsDoNot) {
  const CostModel m = model(table());
  const Rates calibrated{.calibrated =
                             Calibrated{.model = "d", .factors = {.usual = 3, .kernels = {{"many", 2}}}}};
  EXPECT_EQ(factors_of(calibrated, m).of("many"), 2);
  EXPECT_EQ(factors_of(calibrated, m).of("few"), 3);
  EXPECT_NEAR(Calibration(many_records(m, 2), m, calibrated).factors().of("many"), 1, 1e-9);
  EXPECT_NEAR(Calibration(many_records(m, 6), m, calibrated).factors().of("many"), 3, 1e-9);
}

// A model, its machine's threads, and others of which nothing was measured, or all is known already.
TEST(Calibration, OtherThreadsHaveAllFactorsOrTheirOwn) {
  const CostModel m = model(table());
  const Rates own{.calibrated = Calibrated{.model = "d", .factors = {.usual = 3, .kernels = {{"many", 2}}}}};
  const Rates plain{.threads = 2};
  const Calibration beyond(many_records(m, 4), m, own);  // twice as long as the machine's own factor says
  EXPECT_NEAR(beyond.for_others(own, plain, m).factors().of("many"), 4, 1e-9);
  EXPECT_NEAR(beyond.for_others(own, plain, m).factors().of("few"), 6, 1e-9);
  EXPECT_EQ(beyond.for_others(own, own, m).factors().of("many"), 1);
  EXPECT_TRUE(Calibration().for_others(plain, plain, m).is_empty());
  EXPECT_FALSE(Calibration().for_others(own, plain, m).is_empty());
}

TEST(Calibration, FactorsOfAnotherModelSayNothing) {
  const CostModel m = model(table());
  const Rates other{.calibrated =
                        Calibrated{.model = "another digest", .factors = {.usual = 3, .kernels = {}}}};
  EXPECT_FALSE(is_calibrated(other, m));
  EXPECT_EQ(factors_of(other, m).of("many"), 1);
}

TEST(Calibration, AFewStepsThatFellOffACliffSayNothingOfTheOthers) {
  const CostModel m = model(table());
  std::vector<StepRecord> records = many_records(m, 2);
  for (int i = 0; i < 100; ++i) records[static_cast<std::size_t>(i)].ms *= 25;
  EXPECT_NEAR(factors_of(records, m).of("many"), 2, 1e-9);
}

TEST(Predict, ACalibratedMachineMultipliesWhatTheModelSays) {
  const auto graph = graph_of(product);
  const auto plan = Session(graph).plan_for(inputs_of(*graph, {}));
  const CostModel& shipped = CostModel::shipped();
  MachineDescription twice = machine;
  twice.rates[0].calibrated = {shipped.digest(), {.usual = 2, .kernels = {}}};
  const Prediction before = predict(*plan, machine, 1, shipped), after = predict(*plan, twice, 1, shipped);
  EXPECT_DOUBLE_EQ(after.ms, 2 * before.ms);
  EXPECT_FALSE(before.calibrated);
  EXPECT_TRUE(after.calibrated);
  // Less is known of a machine that nobody measured.
  EXPECT_GT(before.interval.high / before.ms, 1.2 * after.interval.high / after.ms);
  EXPECT_GT(before.steps[0].interval.high / before.steps[0].ms,
            1.2 * after.steps[0].interval.high / after.steps[0].ms);
}

TEST(Predict, OnlyThreadsThatAreDescribed) {
  const auto graph = graph_of(product);
  const auto plan = Session(graph).plan_for(inputs_of(*graph, {}));
  EXPECT_THROW(predict(*plan, machine, 2, CostModel::shipped()), Error);
}

TEST(MachineDescription, KeepsRatesOfOtherArithmetic) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  const std::filesystem::path file = folder.path() / "machine.json";
  MachineDescription fast = machine;
  fast.rates[0].peak.own_gflops(ArithmeticKind::bf16) = 400;
  json written = to_json(fast);
  const auto loaded = [&] {
    std::ofstream(file, std::ios::trunc) << written;
    return load_machine(file).of(1).peak;
  };
  EXPECT_EQ(loaded().gflops_of(ArithmeticKind::bf16), 400);
  EXPECT_EQ(loaded().gflops_of(ArithmeticKind::f64), 100) << "as float32";
  written["rates"][0]["gflops_of"]["of a later version"] = "?";
  EXPECT_EQ(loaded().gflops_of(ArithmeticKind::bf16), 400);
  written["rates"][0].erase("gflops_of");
  EXPECT_EQ(loaded().gflops_of(ArithmeticKind::bf16), 100) << "of an earlier version";
}

TEST(CalibrationCache, RatesAreKeptWithTheFactorsThatWereMeasuredAtThem) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  const CalibrationCache cache(folder.path() / "calibration.json");
  EXPECT_FALSE(cache.find(cpu_device(), 1));
  Rates rates = machine.of(1);
  rates.calibrated = {"digest", {.usual = 1.5, .kernels = {{"gemm", 0.5}}}};
  cache.keep(cpu_device(), rates);
  EXPECT_FALSE(cache.find(cpu_device(), 2));
  const MachineDescription here =
      describe_machine(cpu_device(), std::vector{1}, RooflineCache(folder.path() / "roofline.json"), cache);
  EXPECT_EQ(here.of(1).peak.gflops, rates.peak.gflops);
  EXPECT_EQ(here.of(1).calibrated->factors.of("gemm"), 0.5);
  EXPECT_EQ(here.of(1).calibrated->factors.of("copy"), 1.5);
  EXPECT_EQ(cache.problem(cpu_device(), 1), "");
  EXPECT_EQ(cache.problem(cpu_device(), 2), "") << "nothing is kept of two threads";
  for (const char* damage : {"", R"({"schema":"tenon.calibration/1","rates":7})"}) {
    std::ofstream(cache.file(), std::ios::trunc) << damage;
    EXPECT_FALSE(cache.find(cpu_device(), 1)) << damage;
    EXPECT_NE(cache.problem(cpu_device(), 1).find("tenon.calibration/1"), std::string::npos) << damage;
  }
}

TEST(CalibrationCache, ADamagedEntryCountsAsNone) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  const std::filesystem::path file = folder.path() / "calibration.json";
  CalibrationCache(file).keep(cpu_device(), machine.of(1));
  const json good = json::parse(std::ifstream(file));
  const std::string key = good["rates"].begin().key();
  for (const char* entry : {"7", "[]", "{}", R"({"threads":1})"}) {
    json damaged = good;
    damaged["rates"][key] = json::parse(entry);
    std::ofstream(file, std::ios::trunc) << damaged;
    EXPECT_FALSE(CalibrationCache(file).find(cpu_device(), 1)) << entry;
    EXPECT_NE(CalibrationCache(file).problem(cpu_device(), 1), "") << entry;
  }
  json of_others = good;
  of_others["rates"][key]["threads"] = 2;
  std::ofstream(file, std::ios::trunc) << of_others;
  EXPECT_FALSE(CalibrationCache(file).find(cpu_device(), 1));
  EXPECT_FALSE(CalibrationCache(folder.path()).find(cpu_device(), 1));  // a folder
  EXPECT_FALSE(CalibrationCache(folder.path()).keep(cpu_device(), machine.of(1)));
}

}  // namespace
}  // namespace tenon::testing
