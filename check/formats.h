// A suite's result in the forms that other programs read.
#pragma once
#include "check/suite.h"

namespace tenon {

/// The schema "tenon.check/1" (docs/check.md).
nlohmann::ordered_json to_json(const SuiteResult&, const std::filesystem::path& folder);

/// JUnit XML as Jenkins, GitLab and GitHub actions read it: one suite, a test case for each case. What a
/// model does wrong is a failure, what happens to its process an error.
std::string to_junit(const SuiteResult&, const std::filesystem::path& folder);

/// GitHub's workflow commands, a line for each failure: "::error file=...,title=...::...". Empty when nothing
/// failed.
std::string to_annotations(const SuiteResult&);

/// For people: the case's line and what is wrong with it, indented. Ends with a newline.
std::string to_text(const CaseResult&);

}  // namespace tenon
