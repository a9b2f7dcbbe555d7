// Looks for the kernels, appends their table, and runs g++. What it needs lies beside this library.
#include "compiler/compile.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/kernel_scan.h"
#include "kernel_table.h"
#include "protocol.h"

namespace softgpu {
namespace {

namespace fs = std::filesystem;

/// The folder of this library.
const fs::path& home() {
  static const fs::path& folder = *new fs::path([] {
    Dl_info library;
    dladdr(reinterpret_cast<void*>(&compile), &library);
    return fs::absolute(library.dli_fname).parent_path();
  }());
  return folder;
}

std::string variable(const char* name, const std::string& otherwise) {
  const char* value = getenv(name);
  return value ? value : otherwise;
}

std::string read_file(const fs::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool write_file(const fs::path& path, const std::string& text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  return bool(std::ofstream(path, std::ios::binary) << text);
}

/// A folder for one compile; SOFTGPU_KEEP leaves it for a person to read.
class WorkFolder {
 public:
  WorkFolder() : path_(fs::temp_directory_path() / "softgpu-compile-XXXXXX") {
    std::string name = path_;
    made_ = mkdtemp(name.data()) != nullptr;
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code failed;
    if (made_ && !getenv("SOFTGPU_KEEP")) fs::remove_all(path_, failed);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  bool made() const { return made_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
  bool made_;
};

/// The flags that the precompiled headers were made with, and what the caller adds.
std::string flags(const Options& o) {
  return std::string(" " SOFTGPU_KERNEL_FLAGS) + " -DGPU_CPU_WARP=" + std::to_string(o.warp_size()) +
         " -DGPU_CPU_SHMEM=" + std::to_string(o.shared_bytes()) + " " + variable("SOFTGPU_CXXFLAGS", "") +
         o.preprocessor;
}

std::string compiler() { return variable("SOFTGPU_CXX", SOFTGPU_COMPILER); }

/// ---- the cache: images by what went into them

fs::path cache_file(const Source& s, const Options& o) {
  const std::string folder = variable("SOFTGPU_CACHE", home() / "cache");
  if (folder.empty()) return {};
  std::string all = compiler() + __VERSION__ + flags(o) + o.architecture;
  const auto add = [&](const std::string& text) { all += '\1' + text; };
  add(s.text);
  add(s.name);
  for (const auto& [name, text] : s.headers) add(name), add(text);
  for (const std::string& expression : s.expressions) add(expression);
  std::set<fs::path> own;
  for (const auto& entry : fs::recursive_directory_iterator(home() / "include"))
    if (entry.is_regular_file()) own.insert(entry.path());
  for (const fs::path& path : own) add(read_file(path));
  char name[64];
  snprintf(name, sizeof name, "%016llx-%zx",
           static_cast<unsigned long long>(checksum(all.data(), all.size())), all.size());
  return fs::path(folder) / name;
}

/// At once: another process may read it.
void keep(const fs::path& path, const std::string& image) {
  const fs::path temporary = path.string() + "." + std::to_string(getpid());
  std::error_code failed;
  if (write_file(temporary, image)) fs::rename(temporary, path, failed);
}

// ---- the compile

/// What must lie beside this library and does not; empty: nothing.
std::string missing_part() {
  std::error_code failed;
  for (const char* part : {"include/emulation.h", "include/kernel_table.h", "scan/emulation.h", "scan/cmath"})
    if (!fs::exists(home() / part, failed)) return home() / part;
  return "";
}

std::string body(const Source& s) {
  return "#line 1 \"" + (s.name.empty() ? "default_program" : s.name) + "\"\n" + s.text + "\n";
}

std::string row(const std::string& name, const std::string& max_threads, const std::string& kernel) {
  return "SOFTGPU_KERNEL(\"" + name + "\", (" + max_threads + "), (" + kernel + "))\n";
}

/// A constant for a kernel's launch bound, whose expression may use names of the kernel's namespaces.
std::string bound_definition(const KernelName& k) {
  std::string definition = "constexpr unsigned softgpu_bound_" + k.name + " = (" + k.max_threads + ");";
  if (!k.scope.empty())
    definition = "namespace " + k.scope.substr(0, k.scope.size() - 2) + " { " + definition + " }";
  return definition + "\n";
}

std::string kernel_table(const Source& s, const std::string& preprocessed) {
  std::string bounds, rows;
  std::set<std::string> seen;
  for (const KernelName& k : find_kernels(preprocessed)) {
    if (!seen.insert(k.name).second) continue;
    bounds += bound_definition(k);
    rows += row(k.name, k.scope + "softgpu_bound_" + k.name, k.scope + k.name);
  }
  for (size_t i = 0; i < s.expressions.size(); i++) rows += row(expression_name(i), "0", s.expressions[i]);
  return "#line 1 \"softgpu_table\"\n#include \"kernel_table.h\"\n" + bounds +
         "extern \"C\" const softgpu::Kernel softgpu_kernels[] = {\n" + rows +
         "{nullptr, nullptr, 0, 0, nullptr, nullptr}};\n";
}

bool run(const std::string& command, const WorkFolder& work, Compiled& result) {
  constexpr int not_found = 127;  // of the shell
  const int status = system(("{ " + command + "; } 2>" + quoted(work / "log")).c_str());
  result.log += read_file(work / "log");
  result.is_broken = WIFEXITED(status) && WEXITSTATUS(status) == not_found;
  return status == 0;
}

Compiled broken(const std::string& why) { return {"", "soft compiler: " + why + "\n", true}; }

/// The shared library's bytes; empty: it failed, as the result's log says.
std::string build(const Source& s, const Options& o, const WorkFolder& work, Compiled& result) {
  for (const auto& [name, text] : s.headers)
    if (name != "emulation.h") write_file(work / "headers" / name, text);
  write_file(work / "scan.cpp", "#include \"emulation.h\"\n" + body(s));
  // By names in the folder: a cache of compiles knows them again.
  std::error_code failed;
  fs::create_directory_symlink(home(), work / "softgpu", failed);
  const std::string at_work = "cd " + quoted(work / "") + " && ", includes = " -Iheaders -Isoftgpu/include";
  const std::string scan =
      compiler() + flags(o) + " -E -P -Isoftgpu/scan" + includes + " scan.cpp -o scan.ii";
  if (!run(at_work + scan, work, result)) return "";
  write_file(work / "kernels.cpp", body(s) + kernel_table(s, read_file(work / "scan.ii")));
  const std::string folder = "softgpu/precompiled" + std::to_string(o.warp_size());
  const std::string precompiled = " -include " + folder + "/emulation.h -I" + folder;
  const std::string build =
      compiler() + flags(o) + precompiled + includes + " -MD -c kernels.cpp -o kernels.o";
  const std::string link = compiler() + " -shared -nodefaultlibs -Wl,--as-needed kernels.o -o kernels.so " +
                           "-lm -lc -lgcc";  // libstdc++ takes a third of the time
  return run(at_work + build + " && " + link, work, result) ? read_file(work / "kernels.so") : "";
}

std::string make_image(const std::string& library, const std::string& architecture) {
  Image header{};
  memcpy(header.magic, kImageMagic, sizeof kImageMagic);
  strncpy(header.architecture, architecture.c_str(), sizeof header.architecture - 1);
  header.size = library.size();
  header.checksum = checksum(library.data(), library.size());
  return std::string(reinterpret_cast<char*>(&header), sizeof header) + library;
}

/// SOFTGPU_SOURCES: a folder for the text of every program that is compiled, also of those in the cache.
void show(const Source& s) {
  const std::string folder = variable("SOFTGPU_SOURCES", "");
  if (folder.empty()) return;
  char name[32];
  snprintf(name, sizeof name, "%016llx.gpu",
           static_cast<unsigned long long>(checksum(s.text.data(), s.text.size())));
  write_file(fs::path(folder) / name, s.text);
}

/// SOFTGPU_FAULT has compile:TEXT among its parts: programs with this text do not compile.
bool is_refused(const Source& s) {
  constexpr std::string_view refuses = "compile:";
  std::istringstream parts(variable("SOFTGPU_FAULT", ""));
  for (std::string part; std::getline(parts, part, ',');)
    if (part.starts_with(refuses) && s.text.find(part.substr(refuses.size())) != s.text.npos) return true;
  return false;
}

}  // namespace

std::string expression_name(size_t i) { return kExpressionPrefix + std::to_string(i); }

Compiled compile(const Source& source, const Options& options) {
  if (is_refused(source)) return {"", "soft compiler: SOFTGPU_FAULT\n"};
  if (const std::string missing = missing_part(); !missing.empty())
    return broken(missing + " is not there: ./dev build makes the folder");
  show(source);
  const fs::path cached = cache_file(source, options);
  if (!cached.empty())
    if (const std::string image = read_file(cached); !image.empty()) return {image, ""};
  const WorkFolder work;
  if (!work.made()) return broken("no temporary folder");
  Compiled result;
  const std::string library = build(source, options, work, result);
  if (library.empty()) return result;
  result.image = make_image(library, options.architecture);
  if (!cached.empty()) keep(cached, result.image);
  return result;
}

}  // namespace softgpu
