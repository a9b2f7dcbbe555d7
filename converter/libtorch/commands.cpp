// The read command, and how LibTorch's exceptions become one sentence.
#include "converter/libtorch/commands.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/error_report.h>

#include <exception>
#include <new>

#include "base/error.h"
#include "converter/libtorch/program_writer.h"
#include "converter/libtorch/sandbox.h"

namespace tenon::libtorch {
namespace {

constexpr std::size_t kLongestMessage = 2000;

std::string shortened(std::string text) {
  const auto backtrace = text.find("\nException raised from");
  if (backtrace != std::string::npos) text.resize(backtrace);
  if (text.size() > kLongestMessage) text = text.substr(0, kLongestMessage) + " …";
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

std::string read_command(const std::string& path) {
  std::string program;
  on_big_stack([&] { program = write_program(load_module(path, Weights::skip)); });
  return program;
}

std::string describe_current_exception() {
  try {
    throw;
  } catch (const tenon::Error& e) { return e.message(); } catch (const c10::Error& e) {
    return "LibTorch: " + shortened(e.what_without_backtrace());
  } catch (const torch::jit::ErrorReport& e) {
    return "LibTorch: " + shortened(e.what());
  } catch (const std::bad_alloc&) { return "the memory limit is reached"; } catch (const std::exception& e) {
    return "LibTorch: " + shortened(e.what());
  } catch (...) { return "LibTorch threw an unknown exception"; }
}

}  // namespace tenon::libtorch
