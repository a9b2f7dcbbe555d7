#include "check/formats.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon {
namespace {

CaseResult failed() {
  CaseResult r{.name = "a <b>",
               .model = "cases/a/model.pt",
               .seconds = 1.5,
               .measures = {.nodes = 3, .reference_steps = 2}};
  r.measures.relative_error = std::numeric_limits<double>::infinity();
  r.types_only = "types and sizes only: random numbers decide y";
  r.fail({.kind = failure::outputs,
          .message = "50% \"wrong\" & \x01 \xff",
          .details = "one\ntwo\n",
          .file = "out_0.npy"});
  return r;
}

SuiteResult suite() {
  return {.cases = {failed(), {.name = "b", .status = Status::skipped, .reason = "later"}},
          .failed = 1,
          .skipped = 1};
}

TEST(Formats, AResultSurvivesTheProcessItComesFrom) {
  const CaseResult r = failed();
  const CaseResult read = case_result(nlohmann::ordered_json::parse(
      to_json(r).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
  EXPECT_EQ(read.name, r.name);
  EXPECT_EQ(read.status, Status::failed);
  EXPECT_EQ(read.failures.at(0).details, "one\ntwo\n");
  EXPECT_EQ(read.types_only, r.types_only);
  EXPECT_EQ(read.measures.nodes, 3);
  EXPECT_EQ(read.measures.reference_steps, 2);
  EXPECT_EQ(read.measures.relative_error, std::numeric_limits<double>::infinity());
}

TEST(Formats, JUnitEscapesWhatXmlCannotHold) {
  const std::string xml = to_junit(suite(), "cases");
  EXPECT_NE(xml.find("name=\"a &lt;b&gt;\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("50% &quot;wrong&quot; &amp; \\u0001 \\xff"), std::string::npos) << xml;
  EXPECT_NE(xml.find("<system-out>types and sizes only: random numbers decide y</system-out>"),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\""), std::string::npos) << xml;
}

TEST(Formats, AnnotationsAreOneLineEach) {
  const std::string text = to_annotations(suite());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_TRUE(text.starts_with("::error file=cases/a/out_0.npy,title=a <b>%3A outputs::50%25 \"wrong\""))
      << text;
  EXPECT_NE(text.find("%0Aone%0Atwo%0A"), std::string::npos) << text;
}

TEST(Formats, TextNamesTheKindOfFailureAndIndentsTheRest) {
  EXPECT_NE(to_text(failed()).find("  outputs: 50%"), std::string::npos);
  EXPECT_NE(to_text(failed()).find("\n    types and sizes only: random numbers decide y\n"),
            std::string::npos);
  EXPECT_NE(to_text(failed()).find("\n    one\n    two\n"), std::string::npos);
}

}  // namespace
}  // namespace tenon
