// Modules: images that the compiler made, their kernels and variables.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "driver/device_process.h"
#include "driver/diagnostics.h"
#include "driver/model.h"

namespace softgpu {
namespace {

int check_image(const Image& image) {
  if (memcmp(image.magic, kImageMagic, sizeof kImageMagic) != 0) return invalid_image;
  const char* library = reinterpret_cast<const char*>(&image + 1);
  if (checksum(library, image.size) != image.checksum) return invalid_image;
  for (const char* own : {"", "a"})  // sm_90a: for the functions of that chip alone
    if (model().architecture + own == image.architecture) return success;
  say("an image for %s; the device is %s", image.architecture, model().architecture.c_str());
  return no_binary;
}

/// The library as a file; the device loads one of its own for each module.
class LibraryFile {
 public:
  explicit LibraryFile(const Image& image) {
    const int file = mkstemp(path_.data());
    const auto size = static_cast<ssize_t>(image.size);
    written_ = file >= 0 && write(file, &image + 1, image.size) == size;
    close(file);
  }
  ~LibraryFile() { unlink(path_.c_str()); }
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;
  bool written() const { return written_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = folder() + "/softgpu-XXXXXX";
  bool written_ = false;
  static std::string folder() {
    const char* named = getenv("TMPDIR");
    return named ? named : "/tmp";
  }
};

/// A line of table_text (device.cpp).
Function read_function(Module& m, const std::string& line) {
  std::istringstream words(line);
  Function f{.module = &m};
  unsigned count = 0;
  words >> f.name >> f.kernel >> f.max_threads >> count;
  for (unsigned i = 0, size = 0, pointer = 0; i < count && words >> size >> pointer; i++) {
    f.size.push_back(size);
    f.is_pointer.push_back(pointer != 0);
  }
  f.max_dynamic_bytes = model().shared_per_block;
  return f;
}

void read_functions(Module& m, const char* table) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    Function f = read_function(m, line);
    m.functions.emplace(f.name, std::move(f));
  }
}

}  // namespace

int load_image(void** module, const void* image) {
  if (!module || !image) return invalid_value;
  const auto& header = *static_cast<const Image*>(image);
  SOFTGPU_TRY(check_image(header));
  const LibraryFile file(header);
  if (!file.written()) return operating_system;
  auto m = std::make_unique<Module>();
  m->device = current_device();
  std::string answer;
  const int status = request(
      *m->device, Operation::load_module,
      [&](Channel& c) { strncpy(c.data, file.path().c_str(), sizeof c.data - 1); },
      [&](Channel& c) { m->library = c.a, answer = c.data; });
  if (status) return say("%s", answer.c_str()), status;
  read_functions(*m, answer.c_str());
  const Lock lock(state.mutex);
  state.modules.insert(m.get());
  *module = m.release();
  return success;
}

int unload(void* module) {
  Lock lock(state.mutex);
  if (!state.modules.count(module)) return invalid_handle;
  const std::unique_ptr<Module> m(static_cast<Module*>(module));
  wait_for_device(lock, *m->device);
  state.modules.erase(module);
  for (auto& [name, function] : m->functions) state.functions.erase(&function);
  lock.unlock();
  return request(*m->device, Operation::unload_module, [&](Channel& c) { c.a = m->library; });
}

int find_function(void** function, void* module, const char* name) {
  const Lock lock(state.mutex);
  if (!state.modules.count(module)) return invalid_handle;
  if (!function || !name) return invalid_value;
  auto& functions = static_cast<Module*>(module)->functions;
  const auto found = functions.find(name);
  if (found == functions.end()) return not_found;
  *function = &found->second;
  state.functions.insert(*function);
  return success;
}

int find_variable(uint64_t* address, size_t* bytes, void* module, const char* name) {
  Lock lock(state.mutex);
  if (!state.modules.count(module)) return invalid_handle;
  if (!name) return invalid_value;
  const Module& m = *static_cast<Module*>(module);
  lock.unlock();
  uint64_t found = 0, size = 0;
  SOFTGPU_TRY(request(
      *m.device, Operation::find_variable,
      [&](Channel& c) {
        c.a = m.library;
        strncpy(c.data, name, sizeof c.data - 1);
      },
      [&](Channel& c) { found = c.a, size = c.b; }));
  lock.lock();
  state.variables[found] = {size, ++state.allocations, found, size, true, m.device};
  if (address) *address = found;
  if (bytes) *bytes = size;
  return success;
}

}  // namespace softgpu
