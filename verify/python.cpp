#include "verify/python.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "base/error.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && !fs::is_directory(path); }

std::optional<fs::path> beside_this_program() {
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"venv", "libexec/tenon/venv"})
    if (fs::path python = here.parent_path() / place / "bin/python"; is_program(python)) return python;
  return std::nullopt;
}

// A relative entry of PATH would be looked up in the working folder, which may have come with the model.
std::optional<fs::path> on_path(const std::string& name) {
  const char* text = std::getenv("PATH");
  std::string_view rest = text ? text : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    const fs::path folder = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (folder.is_absolute() && is_program(folder / name)) return folder / name;
  }
  return std::nullopt;
}

// Not resolved further: an environment is known by the link through which its Python was started.
std::optional<fs::path> named(const std::string& name) {
  if (name.find('/') == std::string::npos) return on_path(name);
  if (fs::path path = fs::absolute(name); is_program(path)) return path;
  return std::nullopt;
}

constexpr const char* version_script = R"(
import sys
try:
    import numpy, onnxruntime
except ImportError as e:
    print(f"{sys.executable} has no package {e.name}", file=sys.stderr)
    sys.exit(3)
print(onnxruntime.__version__, end="")
)";

}  // namespace

std::vector<Python> pythons() {
  std::vector<Python> found;
  if (const auto python = beside_this_program()) found.push_back({*python, "beside tenon"});
  const char* chosen = std::getenv("TENON_PYTHON");
  const bool is_chosen = chosen && *chosen;
  const auto python = is_chosen ? named(chosen) : on_path("python3");
  if (python) found.push_back({*python, is_chosen ? "TENON_PYTHON" : "PATH"});
  return found;
}

std::string PythonEnd::what() const {
  std::string why = complaints;
  while (!why.empty() && why.back() == '\n') why.pop_back();
  if (!why.empty()) return why;
  return fmt::format("{} {} {}", python.program.string(),
                     status.crashed ? "was ended by signal" : "ended with", status.code);
}

PythonEnd run_python(const std::string& script, const std::vector<std::string>& arguments,
                     const fs::path& folder, std::chrono::seconds timeout) {
  PythonEnd end{.status = {.code = python_lacks_package}};
  const char* chosen = std::getenv("TENON_PYTHON");
  end.complaints = chosen && *chosen ? fmt::format("there is no program {} (TENON_PYTHON)", chosen)
                                     : "there is no python3 on PATH";
  const std::string none = end.complaints;
  const auto choices = pythons();
  for (const Python& python : choices) {
    std::vector<std::string> words{"-I", "-c", script};
    words.insert(words.end(), arguments.begin(), arguments.end());
    ChildProcess child(python.program, words, {.folder = folder});
    const auto deadline = ChildProcess::Clock::now() + timeout;
    std::string printed;
    child.read_all(printed, std::size_t{1} << 24, deadline);
    const auto status = child.wait(deadline);
    end = {python, status, std::move(printed), child.complaints()};
    if (status.crashed || status.code != python_lacks_package) return end;
  }
  // The environment beside tenon lacks the package, and so does whatever was asked for next.
  if (choices.size() == 1 && choices[0].from == "beside tenon") end.complaints += "; " + none;
  return end;
}

OnnxRuntimeFound find_onnxruntime() {
  const PythonEnd end = run_python(version_script, {}, "/", std::chrono::seconds(60));
  if (!end.is_done()) return {false, end.what()};
  return {true, fmt::format("{}, by {} ({})", end.printed, end.python.program.string(), end.python.from)};
}

}  // namespace tenon
