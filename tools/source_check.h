// A converted model beside the program it comes from.
#pragma once
#include <vector>

#include "tools/model_options.h"
#include "verify/samples.h"
#include "verify/verdict.h"

namespace tenon::tools {

/// "LibTorch" or "ONNX Runtime".
std::string_view runner_of(const Model&);

/// What gives the inputs that were made up, or else all, from files: "--input x=x.npy".
std::string own_inputs(const Model&, const ModelOptions&);

/// Runs model and source on random inputs: one sample, a stream of some where the model keeps state, and
/// other sizes where sizes may vary. Small samples become the model's goldens, the error its fact "verified",
/// or "no" and the reason where nothing was compared (`verdict` says so too); a source that refuses other
/// sizes gives it a note. Returns the first sample and the last (of the stream, of other sizes) with what the
/// source computes, and the model for its states. Throws Error with exit code `differs` where an output does,
/// or when the source cannot run.
std::vector<Sample> check_against_source(Model&, const ModelOptions&, double tolerance, Verdict& verdict);

}  // namespace tenon::tools
