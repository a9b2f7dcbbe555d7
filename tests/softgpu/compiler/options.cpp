// Reads the options that NVRTC and hipRTC take; those that change only speed are accepted and mean nothing
// here.
#include "compiler/options.h"

#include <algorithm>
#include <cstdlib>

namespace softgpu {
namespace {

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// What is compiled for without a word: by hipRTC the device that is current, by NVRTC 13 the oldest it knows.
#ifdef SOFTGPU_HIP
constexpr char kArchitecturePrefix[] = "gfx";
std::string default_architecture() {
  const char* const named = std::getenv("SOFTGPU_ARCH");
  return named && begins(named, kArchitecturePrefix) ? named : "gfx942";
}
#else
constexpr char kArchitecturePrefix[] = "sm_";
std::string default_architecture() { return "sm_75"; }
#endif

template <size_t N>
bool begins_any(const std::string& text, const char* const (&with)[N]) {
  return std::any_of(with, with + N, [&](const char* w) { return begins(text, w); });
}

constexpr const char* kArchitecture[] = {"--gpu-architecture=", "-arch=", "--offload-arch="};
constexpr const char* kPassed[] = {"-D", "-I", "-U"};
constexpr const char* kIgnored[] = {"--std=",
                                    "-std=",
                                    "-O",
                                    "--use_fast_math",
                                    "-use_fast_math",
                                    "--fmad=",
                                    "-fmad=",
                                    "-lineinfo",
                                    "--generate-line-info",
                                    "-default-device",
                                    "--device-as-default",
                                    "--extra-device-vectorization",
                                    "-ffast-math",
                                    "-ffp-contract=",
                                    "-munsafe-fp-atomics",
                                    "--maxrregcount=",
                                    "-w"};

void read_option(const std::string& word, Options& o) {
  const size_t equals = word.find('=');
  const std::string value = equals == word.npos ? "" : word.substr(equals + 1);
  if (begins_any(word, kArchitecture))
    o.architecture = begins(value, "compute_") ? "sm_" + value.substr(8) : value;
  else if (begins_any(word, kPassed))
    o.preprocessor += " " + quoted(word);
  else if (begins(word, "--define-macro="))
    o.preprocessor += " -D" + quoted(value);
  else if (begins(word, "--include-path="))
    o.preprocessor += " -I" + quoted(value);
  else if (!begins_any(word, kIgnored))
    o.error = "unknown option '" + word + "'";
}

// The macros by which a source knows the architecture: __CUDA_ARCH__ and, for the functions of one chip alone
// (sm_90a), __CUDA_ARCH_FEAT_SM90_ALL; or __gfx942__ and __GFX9__.
std::string architecture_macros(const std::string& architecture) {
  if (!begins(architecture, "gfx")) {
    const int capability = std::atoi(architecture.c_str() + 3);
    std::string macros = " -D__CUDA_ARCH__=" + std::to_string(10 * capability);
    if (architecture.back() == 'a') macros += " -D__CUDA_ARCH_FEAT_SM" + std::to_string(capability) + "_ALL";
    return macros;
  }
  const std::string generation = architecture.substr(3, architecture.size() - 5);
  return " -D__" + architecture + "__ -D__GFX" + generation + "__";
}

}  // namespace

int Options::warp_size() const { return begins(architecture, "gfx9") ? 64 : 32; }
int Options::shared_bytes() const { return (begins(architecture, "gfx") ? 64 : 227) << 10; }

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}
Options read_options(const std::vector<std::string>& words) {
  Options o{.architecture = default_architecture()};
  for (const std::string& word : words) read_option(word, o);
  if (o.error.empty() && !begins(o.architecture, kArchitecturePrefix))
    o.error = "invalid value for the architecture: " + o.architecture;
  o.preprocessor += architecture_macros(o.architecture);
  return o;
}

}  // namespace softgpu
