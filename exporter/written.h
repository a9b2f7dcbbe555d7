// Whether a written file computes what the model does.
#pragma once
#include "exporter/forms.h"
#include "verify/samples.h"

namespace tenon::exporter {

struct Written {
  std::vector<std::string> lacking;  // as Form::write says
  double error = 0;                  // relative, of the worst output
  std::string unverified;            // why the comparison proves nothing (Verdict::problem)
  std::string problem;               // why the form's runner gives no result; empty when it does
};

/// Writes the model into a temporary folder beside `target`, lets the form's runner run that file on the
/// samples and compares; then the file takes its place. Throws Error, and leaves the target as it was, where
/// an output is not the sample's or the runner refuses the file (exit code `differs`), and when the file
/// cannot be written.
Written write_and_try(const Form&, const Model&, const std::filesystem::path& target, std::span<const Sample>,
                      double tolerance);

}  // namespace tenon::exporter
