// The read command, and how LibTorch's exceptions become one sentence.
#include "converter/libtorch/commands.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/error_report.h>

#include <exception>
#include <new>
#include <string_view>

#include "base/environment.h"
#include "base/error.h"
#include "converter/libtorch/program_writer.h"
#include "converter/libtorch/sandbox.h"

namespace tenon::libtorch {
namespace {

constexpr std::size_t kLongestMessage = 2000;

/// LibTorch's sentence without where in LibTorch it was thrown.
std::string plain(std::string text) {
  const auto backtrace = text.find("\nException raised from");
  if (backtrace != std::string::npos) text.resize(backtrace);
  // The interpreter's traceback ends with the cause.
  constexpr std::string_view kCause = "RuntimeError: ";
  const auto cause = text.rfind(kCause);
  if (cause != std::string::npos && text.find("Traceback of TorchScript") < cause)
    text.erase(0, cause + kCause.size());
  const auto assertion = text.find(" INTERNAL ASSERT FAILED");
  if (assertion != std::string::npos) text = "its own check '" + text.substr(0, assertion) + "' fails";
  constexpr std::string_view kEnforce = "[enforce fail at ";
  if (text.starts_with(kEnforce)) text.erase(0, text.find("] . ") + 4);
  if (text.size() > kLongestMessage) text = text.substr(0, kLongestMessage) + " …";
  const auto first = text.find_first_not_of(" \n");
  const auto last = text.find_last_not_of(" \n");
  return first == std::string::npos ? "an error without a message" : text.substr(first, last - first + 1);
}

}  // namespace

std::string read_command(const std::string& path) {
  std::string program;
  on_big_stack([&] {
    // Never freed: the process ends next, and taking large graphs apart takes long.
    const auto* loaded = new LoadedModule(load_module(path, Weights::skip));
    program = write_program(*loaded);
  });
  return program;
}

nlohmann::json describe_current_exception() {
  const auto record = [](std::string text, Exit code = Exit::bad_input) {
    return nlohmann::json{{"error", std::move(text)}, {"code", static_cast<int>(code)}};
  };
  const auto out_of_memory = record("LibTorch needs more memory than it may take", environment_failed);
  try {
    throw;
  } catch (const tenon::Error& e) { return record(e.message(), e.code()); } catch (const c10::Error& e) {
    const std::string text = e.what_without_backtrace();
    if (text.find("can't allocate memory") != std::string::npos) return out_of_memory;
    return record("LibTorch: " + plain(text));
  } catch (const torch::jit::ErrorReport& e) {
    return record("LibTorch: " + plain(e.what()));
  } catch (const std::bad_alloc&) { return out_of_memory; } catch (const std::exception& e) {
    return record("LibTorch: " + plain(e.what()));
  } catch (...) { return record("LibTorch threw an unknown exception"); }
}

}  // namespace tenon::libtorch
