// A case of gpu_cases.h compiled for the emulation, plain or with a sanitizer, and run in a process of its
// own.
#pragma once
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/temporary_path.h"
#include "tests/kernels/gpu_cases.h"

namespace tenon::gpu {

enum class Tool { plain, address, thread };

/// TENON_RUN_GPU_KERNEL is the program of run_gpu_kernel.cpp, but for the tool's name;
/// TENON_EMULATION_COMPILER is g++. Waves of 32 are those of sm_90, of 64 those of gfx942.
class EmulatedLaunch {
 public:
  EmulatedLaunch(const GpuCase& c, Tool tool, int wave)
      : case_(c), tool_(tool), threads_(c.block_grows ? c.block * wave / 32 : c.block) {
    const char* const device = wave == 64 ? "64 -D__gfx942__ -D__GFX9__" : "32 -D__CUDA_ARCH__=900";
    std::ofstream(file("kernels.cpp"))
        << c.source << "\nusing namespace tenon::gpu;\nGPU_CPU_EXPORT(" << c.kernel << ")\n";
    const std::string command = std::string(TENON_EMULATION_COMPILER) + flags() +
                                " -std=c++17 -O1 -w -shared -fPIC -D__SOFTGPU__ -DGPU_CPU_WARP=" + device +
                                " -I" TENON_SOURCE_DIR "/tests/softgpu " + file("kernels.cpp") + " -o " +
                                file("kernels.so");
    said_ = run_command(command);
  }

  /// What was wrong: what the compiler, a sanitizer or the emulation said, or the first number that differs.
  /// Empty: nothing. Order 0 runs threads and blocks in order, others in a random one.
  std::string run(int order = 0) {
    if (!said_.empty()) return said_;
    write();
    const std::string settings = "SOFTGPU_ORDER=" + std::to_string(order) + " ";
    const std::string command = (order > 0 ? settings : "") +
                                "SOFTGPU_TSAN_BLOCKS=1 ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=exitcode=66 "
                                "UBSAN_OPTIONS=halt_on_error=1 " TENON_RUN_GPU_KERNEL +
                                suffix() + " " + file("kernels.so") + " " + case_.kernel + " " +
                                file("launch");
    const std::string said = run_command(command);
    return said.empty() ? difference() : said;
  }

  /// The buffers after the last run.
  std::vector<std::vector<std::byte>> results() {
    std::ifstream in(file("launch"), std::ios::binary);
    std::vector<std::vector<std::byte>> buffers = case_.buffers;
    for (std::vector<std::byte>& bytes : buffers)
      in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return buffers;
  }

 private:
  std::string file(const std::string& name) { return folder_.file(name).string(); }
  std::string flags() const {
    return tool_ == Tool::plain     ? ""
           : tool_ == Tool::address ? " -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
                                    : " -g1 -fsanitize=thread";
  }
  std::string suffix() const {
    return tool_ == Tool::plain ? "_plain" : tool_ == Tool::address ? "_address" : "_thread";
  }

  std::string run_command(const std::string& command) {
    const int status = std::system((command + " >" + file("log") + " 2>&1").c_str());
    if (status == 0) return "";
    std::stringstream log;
    log << "exit code " << WEXITSTATUS(status) << "\n" << std::ifstream(file("log")).rdbuf();
    return log.str();
  }

  void write() {
    std::ofstream out(file("launch"), std::ios::binary);
    const auto number = [&](std::int64_t value) {
      out.write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    const auto parts = [&](const std::vector<std::vector<std::byte>>& list) {
      number(static_cast<std::int64_t>(list.size()));
      for (const std::vector<std::byte>& bytes : list) {
        number(static_cast<std::int64_t>(bytes.size()));
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      }
    };
    for (const std::int64_t size : case_.grid) number(size);
    number(threads_);
    number(case_.shared_bytes);
    parts(case_.buffers);
    parts(case_.arguments);
  }

  std::string difference() {
    const std::vector<std::vector<std::byte>> after = results();
    for (std::size_t b = 0; b < case_.expected.size(); ++b) {
      const std::vector<std::byte>& actual = after[b];
      const DType dtype = case_.dtypes[b];
      for (std::size_t i = 0; i < case_.expected[b].size() / size_of(dtype); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const Number found = read_number(actual.data(), dtype, at);
        const Number expected = read_number(case_.expected[b].data(), dtype, at);
        if (is_close(case_, b, found, expected)) continue;
        return fmt::format("buffer {} at {}: {} {} instead of {} {}", b, i, found.real, found.whole,
                           expected.real, expected.whole);
      }
    }
    return "";
  }

  const GpuCase& case_;
  const Tool tool_;
  const int threads_;
  TemporaryFolder folder_{std::filesystem::temp_directory_path()};
  std::string said_;
};

}  // namespace tenon::gpu
