#include "check/formats.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace tenon {
namespace {

using nlohmann::ordered_json;

// Text in XML 1.0, which has no place for control characters.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// Properties of GitHub's commands escape two characters more than their messages.
std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : printable_lines(text)) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return out;
}

bool is_of_process(const Failure& f) {
  return f.kind == failure::crash || f.kind == failure::timeout || f.kind == failure::memory ||
         f.kind == failure::error;
}

std::filesystem::path file_of(const CaseResult& r, const Failure& f) {
  const std::filesystem::path model = r.model;
  return f.file.empty() ? model : model.parent_path() / f.file;
}

std::string indented(std::string_view text, std::string_view by) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
    out += fmt::format("{}{}", by, text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

}  // namespace

ordered_json to_json(const SuiteResult& suite, const std::filesystem::path& folder) {
  ordered_json out{{"schema", "tenon.check/1"},     {"folder", folder.string()}, {"passed", suite.passed},
                   {"failed", suite.failed},        {"skipped", suite.skipped},  {"seconds", suite.seconds},
                   {"cases", ordered_json::array()}};
  for (const CaseResult& r : suite.cases) out["cases"].push_back(to_json(r));
  return out;
}

std::string to_junit(const SuiteResult& suite, const std::filesystem::path& folder) {
  std::string cases;
  int failures = 0, errors = 0;
  for (const CaseResult& r : suite.cases) {
    std::string inside;
    if (r.status == Status::skipped) inside = fmt::format("      <skipped message=\"{}\"/>\n", xml(r.reason));
    bool process = false;
    for (const Failure& f : r.failures) {
      process = process || is_of_process(f);
      const std::string_view tag = is_of_process(f) ? "error" : "failure";
      inside += fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", tag, xml(f.kind),
                            xml(f.message), xml(f.message + "\n" + f.details));
    }
    if (r.status == Status::failed) ++(process ? errors : failures);
    if (!r.types_only.empty())
      inside += fmt::format("      <system-out>{}</system-out>\n", xml(r.types_only));
    cases += fmt::format(
        "    <testcase classname=\"tenon.check\" name=\"{}\" file=\"{}\" time=\"{:.3f}\">\n{}"
        "    </testcase>\n",
        xml(r.name), xml(r.model), r.seconds, inside);
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                  suite.cases.size(), failures, errors, suite.skipped, suite.seconds);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite name=\"{1}\" {0}>\n{2}"
      "  </testsuite>\n</testsuites>\n",
      counts, xml(folder.string()), cases);
}

std::string to_annotations(const SuiteResult& suite) {
  std::string out;
  for (const CaseResult& r : suite.cases)
    for (const Failure& f : r.failures)
      out += fmt::format("::error file={},title={}::{}\n", escaped(file_of(r, f).string(), true),
                         escaped(fmt::format("{}: {}", r.name, f.kind), true),
                         escaped(f.message + "\n" + f.details, false));
  return out;
}

std::string to_text(const CaseResult& r) {
  std::string out = printable(r.name);
  if (r.status == Status::skipped)
    out += ": " + printable(r.reason);
  else
    out += fmt::format("  {:.1f} s", r.seconds);
  out += '\n';
  if (!r.types_only.empty()) out += fmt::format("    {}\n", printable(r.types_only));
  for (const auto* lines : {&r.recorded, &r.notes})
    for (const std::string& line : *lines) out += fmt::format("    {}\n", printable(line));
  for (const Failure& f : r.failures)
    out += fmt::format("  {}: {}\n{}", f.kind, printable(f.message),
                       indented(printable_lines(f.details), "    "));
  return out;
}

}  // namespace tenon
