// TENON_RUN_GPU_KERNEL is the program of run_gpu_kernel.cpp, but for the tool's name; TENON_KERNEL_COMPILERS
// are g++ with its flags for each chip of each tool; their headers stand in the program's folders.
#include "tests/kernels/emulated_launch.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tenon::gpu {

Tool kernel_tool() {
  const char* const wanted = std::getenv("TENON_KERNEL_TOOL");
  const std::string_view name = wanted ? wanted : TENON_KERNEL_TOOL;
  return name == "address" ? Tool::address : name == "thread" ? Tool::thread : Tool::plain;
}

EmulatedLaunch::EmulatedLaunch(const GpuCase& c, Tool tool, Chip chip)
    : case_(c), tool_(tool), chip_(chip), folder_(std::filesystem::temp_directory_path()) {
  std::map<std::string, std::set<std::string>> kernels;  // by their text
  for (const GpuLaunch& launch : c.launches) kernels[launch.source].insert(launch.kernel);
  for (const auto& [source, names] : kernels)
    if (said_.empty()) compile(source, names);
}

std::string EmulatedLaunch::run(int order) {
  if (!said_.empty()) return said_;
  write();
  const std::string settings = "SOFTGPU_ORDER=" + std::to_string(order) + " ";
  const std::string command = (order > 0 ? settings : "") +
                              "SOFTGPU_TSAN_BLOCKS=1 GLIBC_TUNABLES=glibc.rtld.optional_static_tls=1000000 "
                              "ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=exitcode=66 "
                              "UBSAN_OPTIONS=halt_on_error=1 " TENON_RUN_GPU_KERNEL +
                              suffix() + " " + file("launches");
  const std::string said = run_command(command);
  return said.empty() ? difference() : said;
}

std::vector<std::vector<std::byte>> EmulatedLaunch::results() {
  std::ifstream in(file("launches"), std::ios::binary);
  std::vector<std::vector<std::byte>> buffers = case_.buffers;
  for (std::vector<std::byte>& bytes : buffers)
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return buffers;
}

void EmulatedLaunch::compile(const std::string& source, const std::set<std::string>& kernels) {
  const std::string name = std::to_string(libraries_.size());
  std::ofstream text(file(name + ".cpp"));
  text << source << "\nusing namespace tenon::gpu;\n";
  for (const std::string& kernel : kernels) text << "GPU_CPU_EXPORT(" << kernel << ")\n";
  text.close();
  // By names in the folder: a cache of compiles knows them again.
  static constexpr const char* compilers[] = {TENON_KERNEL_COMPILERS};
  const std::string compiler = compilers[Chip::count * static_cast<int>(tool_) + chip_.number];
  const std::string header = TENON_RUN_GPU_KERNEL + suffix() + "_" + chip_.name;
  if (!std::filesystem::exists(file("header")))
    std::filesystem::create_directory_symlink(header, file("header"));
  const std::string object = name + ".o", library = file(name + ".so");
  said_ = run_command("cd " + folder_.path().string() + " && " + compiler +
                      " -include header/kernel.h -Iheader -MD -c " + name + ".cpp -o " + object + " && " +
                      compiler + " -shared " + object + " -o " + library);
  libraries_[source] = library;
}

std::string EmulatedLaunch::suffix() const {
  return tool_ == Tool::plain ? "_plain" : tool_ == Tool::address ? "_address" : "_thread";
}

std::string EmulatedLaunch::run_command(const std::string& command) {
  const int status = std::system(("{ " + command + "; } >" + file("log") + " 2>&1").c_str());
  if (status == 0) return "";
  std::stringstream log;
  log << "exit code " << WEXITSTATUS(status) << "\n" << std::ifstream(file("log")).rdbuf();
  return log.str();
}

// As run_gpu_kernel.cpp reads it.
void EmulatedLaunch::write() {
  std::ofstream out(file("launches"), std::ios::binary);
  const auto number = [&](std::int64_t value) {
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto part = [&](std::span<const std::byte> bytes) {
    number(static_cast<std::int64_t>(bytes.size()));
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  number(static_cast<std::int64_t>(case_.buffers.size()));
  for (const auto& buffer : case_.buffers) part(buffer);
  for (const GpuLaunch& launch : case_.launches) {
    if (std::count(launch.grid.begin(), launch.grid.end(), 0) > 0) continue;
    part(std::as_bytes(std::span(libraries_.at(launch.source))));
    part(std::as_bytes(std::span(launch.kernel)));
    for (const std::int64_t size : launch.grid) number(size);
    number(launch.block_grows ? launch.block * chip_.wave / 32 : launch.block);
    number(launch.shared_bytes);
    const std::size_t buffers = launch.buffers.empty() ? case_.buffers.size() : launch.buffers.size();
    number(static_cast<std::int64_t>(buffers));
    for (std::size_t i = 0; i < buffers; ++i) {
      const auto at = launch.buffers.empty() ? GpuLaunch::Parameter{i} : launch.buffers[i];
      number(static_cast<std::int64_t>(at.buffer));
      number(at.offset);
    }
    number(static_cast<std::int64_t>(launch.arguments.size()));
    for (const auto& argument : launch.arguments) part(argument);
    number(static_cast<std::int64_t>(launch.maps.size()));
    for (const TensorMap& m : launch.maps)
      for (const std::int64_t field :
           {static_cast<std::int64_t>(m.buffer), static_cast<std::int64_t>(size_of(m.dtype)), m.extent[0],
            m.extent[1], m.stride, std::int64_t{m.box[0]}, std::int64_t{m.box[1]}})
        number(field);
  }
}

std::string EmulatedLaunch::difference() {
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

}  // namespace tenon::gpu
