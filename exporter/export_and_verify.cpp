#include "exporter/export_and_verify.h"

#include <unistd.h>

#include "base/environment.h"
#include "base/input_guard.h"
#include "base/temporary_path.h"
#include "verify/onnxruntime.h"
#include "verify/verdict.h"

namespace tenon::exporter {

namespace fs = std::filesystem;

namespace {

Error differs(const fs::path& target, const std::string& what) {
  return Error(what, Exit::differs)
      .at(target.string())
      .hint("this is a mistake in Tenon, please report it; --no-verify writes the file all the same");
}

// The worst relative error.
double error_of(const OutputFormat& form, const Model& model, const fs::path& file, const fs::path& target,
                const Sample& sample, double tolerance, Verdict& verdict) {
  double worst = 0;
  const auto outputs = form.outputs(file, *model.graph, sample.inputs);
  for (const OutputCheck& c : check_outputs(*model.graph, outputs, sample.expected, tolerance)) {
    if (!c.ok)
      throw differs(target,
                    fmt::format("{} computes another {} from the written file: {}", form.runner, c.name,
                                c.same_type() ? c.difference.str()
                                              : fmt::format("{}, not {}", c.type, c.expected_type)));
    verdict.add(c);
    worst = std::max(worst, c.difference.relative());
  }
  return worst;
}

// A file that is there keeps its permissions.
void put_in_place(const fs::path& file, const fs::path& target) {
  std::error_code failed;
  const auto before = fs::status(target, failed);
  if (fs::is_regular_file(before)) fs::permissions(file, before.permissions(), failed);
  fs::rename(file, target, failed);
  if (failed) throw system_error(failed.value(), "the file cannot be written").at(target.string());
  output_is_written(target);
}

// What is not replaced by its name: links, pipes, folders, files that must not be written.
bool is_plain(const fs::path& target) {
  std::error_code failed;
  const auto is = fs::symlink_status(target, failed);
  return !fs::exists(is) || (fs::is_regular_file(is) && ::access(target.c_str(), W_OK) == 0);
}

}  // namespace

ExportResult export_and_verify(const OutputFormat& form, const Model& model, const fs::path& target,
                               std::span<const Sample> samples, double tolerance) {
  TemporaryFolder folder(target.has_parent_path() ? target.parent_path() : ".");
  const std::string name = target.filename().string();
  const fs::path file = folder.file(name), beside = folder.file(name + ".data");
  ExportResult written;
  try {
    written.omissions = form.write(model, file);
  } catch (Error& e) {
    if (e.where() == file.string()) e.at(target.string());
    throw;
  }
  try {
    Verdict verdict;
    for (const Sample& sample : samples)
      written.error =
          std::max(written.error, error_of(form, model, file, target, sample, tolerance, verdict));
    written.unverified = verdict.problem();
  } catch (const OnnxRuntimeError& e) {
    if (e.refuses_model) throw differs(target, e.message());
    written.problem = e.message();
  }
  if (!is_plain(target)) {
    form.write(model, target);
    return written;
  }
  refuse_to_replace_input(target);
  if (fs::exists(beside)) refuse_to_replace_input(fs::path(target) += ".data");
  if (fs::exists(beside)) put_in_place(beside, fs::path(target) += ".data");
  put_in_place(file, target);
  return written;
}

}  // namespace tenon::exporter
