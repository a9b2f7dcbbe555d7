// Is a case still as fast as its baseline, and worth fusing?
#pragma once
#include <span>

#include "check/case.h"
#include "check/result.h"
#include "pipeline/model.h"

namespace tenon {

struct SpeedVerdict {
  std::vector<Failure> failures;
  std::vector<std::string> notes;  // what could not be compared, and why
};

/// What case.toml's [speed] asks for, with these inputs. A baseline that is a model or an artifact is opened
/// with the case's own options and run by turns with the case's; one that is a stored profile is compared
/// where it was taken on such a machine. Throws Error when the baseline cannot be read.
SpeedVerdict check_speed(const Case&, const Model&, const OpenOptions&, std::span<const Tensor> inputs);

/// Times the case and writes its stored profile. Returns the line that says so.
std::vector<std::string> record_speed(const Case&, const Model&, std::span<const Tensor> inputs);

}  // namespace tenon
