// Whether a written file computes what the model does.
#pragma once
#include "exporter/output_formats.h"
#include "verify/samples.h"

namespace tenon::exporter {

struct ExportResult {
  std::vector<std::string> omissions;  // as OutputFormat::write returns them
  double error = 0;                    // relative, of the worst output
  std::string unverified;              // why the comparison proves nothing (Verdict::problem)
  std::string problem;  // why the runner of the format gives no result; empty when it gives one
};

/// Writes the model into a temporary folder beside `target`, runs that file on the samples with the runner of
/// the format, compares the outputs and then moves the file to `target`. Throws Error and leaves the target
/// unchanged when an output differs from the sample's, when the runner refuses the file (both with exit code
/// `differs`), or when the file cannot be written.
ExportResult export_and_verify(const OutputFormat&, const Model&, const std::filesystem::path& target,
                               std::span<const Sample>, double tolerance);

}  // namespace tenon::exporter
