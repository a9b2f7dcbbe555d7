#include "runtime/gpu/kernel_cache.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/checksum.h"
#include "base/environment.h"

namespace tenon::gpu {
namespace {

constexpr std::string_view magic = "tenon kernel 1\n";

std::uint32_t checksum(std::span<const char> bytes) { return crc32(std::as_bytes(bytes)); }

// FNV-1a.
std::uint64_t hash(std::string_view text, std::uint64_t basis) {
  for (const char c : text) basis = (basis ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return basis;
}

class Program {
 public:
  Program(const Driver& driver, const std::string& source) : driver_(driver) {
    driver_.check(driver_.create_program(&program_, source.c_str(), "tenon_kernels", 0, nullptr, nullptr),
                  "preparing to compile a kernel");
  }
  ~Program() { (void)driver_.destroy_program(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile(std::span<const char* const> options) {
    constexpr int wrong_option = 5, wrong_source = 6;  // of nvrtcResult and hiprtcResult
    const int result = driver_.compile_program(program_, static_cast<int>(options.size()), options.data());
    if (result == 0) return;
    const std::string said = log();
    if (said.find("--gpu-architecture") != std::string::npos)
      throw environment_error("{} does not know this GPU: {}", driver_.compiler.found, said)
          .hint("install a newer version of it");
    if (result != wrong_option && result != wrong_source)
      throw environment_error("{} failed (error {}): {}", driver_.compiler.found, result, said)
          .hint("tenon doctor --selftest says whether it works on other kernels");
    throw InternalError("a kernel does not compile:\n" + said);
  }
  std::vector<char> image() const {
    std::size_t bytes = 0;
    driver_.check(driver_.image_size(program_, &bytes), "asking for the size of a kernel");
    std::vector<char> image(bytes);
    driver_.check(driver_.image(program_, image.data()), "asking for a kernel");
    return image;
  }

 private:
  std::string log() const {
    std::size_t bytes = 0;
    if (driver_.log_size(program_, &bytes) != 0 || bytes == 0) return {};
    std::string text(bytes, '\0');
    return driver_.log(program_, text.data()) == 0 ? text.c_str() : std::string();
  }

  const Driver& driver_;
  void* program_ = nullptr;
};

}  // namespace

std::vector<char> compile(const Driver& driver, const std::string& architecture, const std::string& source) {
  std::vector<std::string> options{"--std=c++17"};
  if (driver.vendor == Vendor::hip)
    options.insert(options.end(), {"-O3", "-ffp-contract=fast"});
  else
    options.push_back("--gpu-architecture=" + architecture);
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  Program program(driver, source);
  program.compile(texts);
  return program.image();
}

KernelCache::KernelCache() : folder_(cache_folder()) {
  if (!folder_.empty()) folder_ /= "kernels";
}

std::filesystem::path KernelCache::file(const Driver& driver, const std::string& device,
                                        const std::string& source) const {
  int major = 0, minor = 0;
  driver.check(driver.compiler_version(&major, &minor), "asking for the compiler's version");
  const std::string all = fmt::format("{} {}.{} {}\n{}", driver.name, major, minor, device, source);
  return folder_ /
         fmt::format("{:016x}{:016x}", hash(all, 14695981039346656037ULL), hash(all, 1099511628211ULL));
}

std::optional<std::vector<char>> KernelCache::find(const Driver& driver, const std::string& device,
                                                   const std::string& source) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream in(file(driver, device, source), std::ios::binary);
  std::array<char, magic.size() + sizeof(std::uint32_t)> head{};
  if (!in.read(head.data(), head.size()) || std::string_view(head.data(), magic.size()) != magic)
    return std::nullopt;
  std::vector<char> image{std::istreambuf_iterator<char>(in), {}};
  std::uint32_t sum = 0;
  std::memcpy(&sum, head.data() + magic.size(), sizeof sum);
  return sum == checksum(image) ? std::optional(std::move(image)) : std::nullopt;
}

void KernelCache::keep(const Driver& driver, const std::string& device, const std::string& source,
                       const std::vector<char>& image) const {
  if (folder_.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  try {
    AtomicFile out(file(driver, device, source));
    const std::uint32_t sum = checksum(image);
    out.write(magic);
    out.write(std::as_bytes(std::span(&sum, 1)));
    out.write(std::as_bytes(std::span(image)));
    out.commit();
  } catch (const Error&) {  // a cache that cannot be written is no failure
  }
}

}  // namespace tenon::gpu
