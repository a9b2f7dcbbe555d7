// Whether a written file computes what the model does.
#pragma once
#include "exporter/forms.h"
#include "verify/samples.h"

namespace tenon::exporter {

struct Written {
  double error = 0;     // relative, of the worst output
  std::string problem;  // why the form's runner gives no result; empty when it does
};

/// Writes the model into a temporary folder beside `target`, lets the form's runner run it and compares.
/// Throws Error with exit code `differs` where an output is not the sample's, and when the file cannot be
/// written.
Written try_written(const Form&, const Model&, const std::filesystem::path& target, const Sample&,
                    double tolerance);

}  // namespace tenon::exporter
