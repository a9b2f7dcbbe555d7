// The Python that runs ONNX Runtime: where it is found, and how a script is run in it.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "converter/process.h"

namespace tenon {

struct Python {
  std::filesystem::path program;
  std::string from;  // "beside tenon", "TENON_PYTHON" or "PATH"
};

/// In the order in which they are tried: the environment beside this program (../venv or
/// ../libexec/tenon/venv), then $TENON_PYTHON or, where it is not set, the first python3 of $PATH. Never one
/// of the working folder, unless TENON_PYTHON says so.
std::vector<Python> pythons();

struct PythonEnd {
  Python python;
  ChildProcess::Status status;
  std::string printed, complaints;

  bool is_done() const { return !status.crashed && status.code == 0; }
  /// Why it is not done, as one sentence.
  std::string what() const;
};

/// The exit code of a script for which a package is missing.
constexpr int python_lacks_package = 3;

/// Runs `script` in the first Python that has the packages it needs, isolated (-I: neither variables nor the
/// user's packages nor the working folder) and in `folder`.
PythonEnd run_python(const std::string& script, const std::vector<std::string>& arguments,
                     const std::filesystem::path& folder, std::chrono::seconds timeout);

struct OnnxRuntimeFound {
  bool ok = false;
  std::string what;  // "1.20.1, by /…/build/venv/bin/python (beside tenon)", or why there is none
};
/// For `tenon doctor`: which ONNX Runtime verifies .onnx models.
OnnxRuntimeFound find_onnxruntime();

}  // namespace tenon
