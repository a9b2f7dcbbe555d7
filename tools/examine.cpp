#include "tools/examine.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/count.h"
#include "base/environment.h"
#include "base/temporary_path.h"
#include "base/version.h"
#include "converter/process.h"
#include "converter/tenon_torch.h"
#include "ir/evaluate.h"
#include "ir/parse.h"
#include "kernels/cpu/float_pieces.h"
#include "kernels/cpu/isa.h"
#include "runtime/compare.h"
#include "runtime/cost/machine.h"
#include "runtime/cpu/name.h"
#include "runtime/devices.h"
#include "runtime/gpu/blas.h"
#include "runtime/gpu/devices.h"
#include "runtime/gpu/dnn.h"
#include "runtime/gpu/open_library.h"
#include "runtime/inputs.h"
#include "runtime/session.h"
#include "verify/python.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::seconds;
constexpr double gib = 1 << 30;

struct Finding {
  std::string found, remedy = {};
};

// A small graph through planning and kernels, against the reference.
Finding self_test(const Device& device) {
  const std::shared_ptr<const Graph> graph = parse(R"(graph self_test(%x: f32[N,64], %w: f32[64,48]) {
  %1 = matmul(%x, %w) : f32[N,48]
  %2 = gelu(%1) : f32[N,48]
  %3 = softmax(%2, axis=1) : f32[N,48]
  return %3
}
)");
  const std::vector<Tensor> inputs = input_values(*graph, {}, 0, {{"N", 7}});
  const Difference d =
      compare(Session(graph, {.device = &device}).run(inputs)[0], evaluate(*graph, inputs)[0]);
  if (d.within(1e-5)) return {"results equal the reference's"};
  return {d.str(), "results of this machine are wrong: please report it with this table"};
}

Finding instruction_sets() {
  std::vector<std::string_view> names;
  for (const cpu::Isa isa : cpu::runnable_isas()) names.push_back(cpu::name(isa));
  const std::string_view unit = cpu::runs_float_pieces() ? " with a matrix unit" : "";
  return {fmt::format("{}{} (of {})", cpu::name(cpu::isa()), unit, fmt::join(names, ", "))};
}

Finding threads() {
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  std::jthread([] {}).join();  // throws where the limit of processes is reached
  return {fmt::format("{} (--threads)", counted(cores, "core"))};
}

// None is no part that is missing: predictions are wider without.
Finding calibration() {
  std::vector<int> calibrated;
  for (const int threads : described_threads())
    if (CalibrationCache().find(cpu_device(), threads)) calibrated.push_back(threads);
  if (calibrated.empty()) return {"none: tenon doctor --calibrate makes predictions more exact"};
  return {fmt::format("of {} (--threads)", fmt::join(calibrated, ", "))};
}

Finding memory() {
  std::ifstream info("/proc/meminfo");
  double available = 0;
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("MemAvailable:")) available = std::strtod(line.c_str() + 13, nullptr) * 1024;
  const double all =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const std::string found = fmt::format("{:.1f} GiB, {:.1f} of them available", all / gib, available / gib);
  const bool enough = available == 0 || available >= gib / 2;
  return {found, enough ? "" : "close other programs: ResNet-50 alone takes 0.5 GiB"};
}

// A folder to write to: a file is made and removed in it.
Finding folder(const fs::path& path, const char* remedy) {
  constexpr double least = 200 << 20;
  const TemporaryFolder probe(path);
  const double space = static_cast<double>(fs::space(path).available);
  const std::string found = fmt::format("{}, {:.1f} GiB free", path.string(), space / gib);
  return {found, space >= least ? "" : remedy};
}

Finding temporary_files() {
  constexpr const char* remedy = "name another folder: TMPDIR=/var/tmp";
  std::error_code failed;
  const fs::path path = fs::temp_directory_path(failed);
  if (failed) return {"TMPDIR names no folder", remedy};
  return folder(path, remedy);
}

Finding working_folder() { return folder(fs::current_path(), "free some space, or work in another folder"); }

struct Answer {
  int code = 0;
  std::string text;  // what it printed; of a program that failed what it complained of
};

Answer answer_of(const fs::path& program, const std::vector<std::string>& arguments) {
  constexpr std::size_t most = 1 << 16;
  const auto deadline = ChildProcess::Clock::now() + Seconds(60);
  ChildProcess child(program, arguments);
  Answer answer;
  child.read_all(answer.text, most, deadline);
  const ChildProcess::Status status = child.wait(deadline);
  answer.code = status.crashed ? -1 : status.code;
  if (answer.code != 0) answer.text = child.complaints();
  answer.text = answer.text.substr(0, answer.text.find('\n'));
  return answer;
}

Finding libtorch() {
  const fs::path program = find_tenon_torch();
  const Answer answer = answer_of(program, {"--help"});
  if (answer.code == 0) return {program.string()};
  return {fmt::format("{} does not start: {}", program.string(), answer.text),
          "install the libraries that it names, or build it again"};
}

Finding onnxruntime() {
  const OnnxRuntimeFound found = find_onnxruntime();
  return {found.what, found.ok ? "" : "pip install onnxruntime, or TENON_PYTHON=PYTHON with one that has it"};
}

// What the process of LibTorch is locked in with.
Finding sandbox() {
  const KernelGuards guards = kernel_guards();
  return {describe(guards), guards.missing().empty() ? "" : "read .pt files of others on a newer kernel"};
}

// The folders that libraries lie in.
std::string folders_of(std::initializer_list<const gpu::Library*> libraries) {
  std::vector<std::string> folders;
  for (const gpu::Library* library : libraries) {
    std::string folder = gpu::folder_of(*library);
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
  }
  return fmt::format("{}", fmt::join(folders, ", "));
}

// A machine without GPUs of a vendor lacks nothing.
Finding gpus(gpu::Vendor vendor) {
  const gpu::Driver& driver = gpu::driver(vendor);
  const gpu::Found& found = gpu::find_devices(vendor);
  if (!driver.library.ok()) return {"no GPU: " + found.why_none};
  if (!driver.compiler.ok())
    return {found.why_none,
            vendor == gpu::Vendor::cuda ? "pip install nvidia-cuda-nvrtc" : "install hipRTC, a part of ROCm"};
  if (found.is_broken)
    return {found.why_none, vendor == gpu::Vendor::cuda ? "nvidia-smi says more: install the driver again"
                                                        : "rocminfo says more: install the driver again"};
  if (found.devices.empty()) return {"no GPU: " + found.why_none};
  return {fmt::format("{}, {}, from {}", counted(found.devices.size(), "GPU"), driver.versions(),
                      folders_of({&driver.library, &driver.compiler}))};
}

// The matrix units of a GPU, each proven anew, up to one that ends the device.
Finding units(gpu::Gpu& gpu) {
  std::vector<std::string> right, wrong;
  for (const gpu::MatrixUnit unit : gpu::matrix_units) {
    if (!gpu::units_of(gpu).has(unit)) continue;
    const std::string name = gpu::name_of(gpu.driver().vendor, unit);
    try {
      const std::string fault = gpu::prove_again(gpu, unit);
      (fault.empty() ? right : wrong).push_back(fault.empty() ? name : name + " " + fault);
    } catch (const Error&) {
      if (wrong.empty()) throw;
      break;
    }
  }
  if (right.empty() && wrong.empty()) return {"none: products are computed on the ordinary units"};
  if (wrong.empty()) return {fmt::format("{}", fmt::join(right, ", "))};
  return {fmt::format("{}", fmt::join(wrong, "; ")),
          "products take other units there, which are slower: please report it with this table"};
}

// A library that is not there is no lack: kernels of ours do all that it does.
Finding kernel_library(const gpu::Library& library, std::string_view computed, std::string_view way_to_it,
                       const std::function<std::string()>& version) {
  if (library.ok())
    return {fmt::format("{}, a candidate for {}, from {}", version(), computed, folders_of({&library}))};
  if (!library.found.empty())
    return {fmt::format("{} lacks {}", library.found, library.lacks), "install a newer one"};
  return {fmt::format("none of {} is there: {} take kernels of our own ({})", library.wanted, computed,
                      way_to_it)};
}

Finding product_library(gpu::Gpu& gpu) {
  const gpu::Vendor vendor = gpu.driver().vendor;
  return kernel_library(
      gpu::blas(vendor).library, "products of matrices",
      vendor == gpu::Vendor::cuda ? "pip install nvidia-cublas" : "install hipBLASLt, a part of ROCm",
      [&] { return gpu::blas_version(gpu); });
}

Finding convolution_library(gpu::Gpu& gpu) {
  const gpu::Vendor vendor = gpu.driver().vendor;
  return kernel_library(
      gpu::dnn(vendor).library, "convolutions",
      vendor == gpu::Vendor::cuda ? "pip install nvidia-cudnn-cu13" : "install MIOpen, a part of ROCm",
      [&] { return gpu::dnn_version(gpu); });
}

template <class F>
Part part(std::string name, F&& look) {
  try {
    Finding f = look();
    return {std::move(name), std::move(f.found), std::move(f.remedy)};
  } catch (const Error& e) {
    return {name, e.where().empty() ? e.message() : e.where() + ": " + e.message(),
            e.hint().empty() ? "see the message" : e.hint()};
  } catch (const std::exception& e) { return {name, e.what(), "see the message"}; }
}

}  // namespace

std::vector<Part> examine() {
  std::vector<Part> parts = {
      part("version", [] { return Finding{std::string(version())}; }),
      part("cpu", [] { return Finding{cpu_name()}; }),
      part("instruction set", instruction_sets),
      part("calibration", calibration),
      part("threads", threads),
      part("memory", memory),
      part("working folder", working_folder),
      part("temporary files", temporary_files),
      part("LibTorch", libtorch),
      part("ONNX Runtime", onnxruntime),
      part("sandbox", sandbox),
      part("cuda", [] { return gpus(gpu::Vendor::cuda); }),
      part("hip", [] { return gpus(gpu::Vendor::hip); }),
  };
  for (const Device* device : devices()) {
    if (gpu::Gpu* const gpu = gpu::gpu_of(*device)) {
      parts.push_back(part(fmt::format("units {}", device->name), [&] { return units(*gpu); }));
      parts.push_back(part(fmt::format("products {}", device->name), [&] { return product_library(*gpu); }));
      parts.push_back(
          part(fmt::format("convolutions {}", device->name), [&] { return convolution_library(*gpu); }));
    }
    parts.push_back(part(fmt::format("device {}", device->name), [&] { return self_test(*device); }));
  }
  return parts;
}

}  // namespace tenon::tools
