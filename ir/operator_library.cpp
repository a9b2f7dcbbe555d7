#include "ir/operator_library.h"

#include <dlfcn.h>

#include <algorithm>

#include "base/error.h"

namespace tenon {
namespace {

constexpr const char *entry_point = "tenon_operators", *kernel_entry_point = "tenon_kernels";

std::vector<LibraryOperator>& operators() {
  static std::vector<LibraryOperator> all;
  return all;
}
std::vector<LibraryKernel>& kernels() {
  static std::vector<LibraryKernel> all;
  return all;
}
std::vector<std::filesystem::path>& libraries() {
  static std::vector<std::filesystem::path> all;
  return all;
}

LibraryOperator checked(const tenon_operator& declared, const std::filesystem::path& library) {
  if (!declared.name || !declared.signature || !declared.compute)
    throw error("an operator of the library lacks its name, its signature or its function");
  const std::string name = declared.name;
  if (const auto colons = name.find("::"); colons == 0 || colons == std::string::npos || name.ends_with("::"))
    throw error("'{}' is not the name of an operator", name).hint("write it as PyTorch does: mylib::myop");
  if (name.starts_with("aten::") || name.starts_with("prim::"))
    throw error("{} is PyTorch's own operator", name).hint("give yours a namespace of its own");
  if (const LibraryOperator* other = find_library_operator(name))
    throw error("{} is in {} already", name, other->library.string());
  try {
    return {name, OperatorSignature::parse(declared.signature), declared.compute, library};
  } catch (const Error& e) {
    throw error("the signature of {} is wrong: {} ({})", name, e.message(), e.where());
  }
}

void check_version(std::uint32_t abi) {
  if (abi != TENON_OPERATOR_ABI)
    throw error("the library is built for version {} of tenon/operator.h, this program has version {}", abi,
                TENON_OPERATOR_ABI)
        .hint("build it with the header of this tenon");
}

struct Opened {
  const tenon_operator_library& operators;
  const tenon_kernel_library* kernels = nullptr;  // null: none
};

Opened opened(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) throw error("there is no such file");
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw error("the library cannot be loaded: {}", ::dlerror());
  const auto list = reinterpret_cast<decltype(&tenon_operators)>(::dlsym(handle, entry_point));
  if (!list)
    throw error("the library defines no {}()", entry_point).hint("include tenon/operator.h and define it");
  const tenon_operator_library* const library = list();
  if (!library) throw error("{}() of the library gives nothing", entry_point);
  const auto of_gpus = reinterpret_cast<decltype(&tenon_kernels)>(::dlsym(handle, kernel_entry_point));
  return {*library, of_gpus ? of_gpus() : nullptr};
}

LibraryKernel checked(const tenon_kernel& declared, const std::filesystem::path& library) {
  if (!declared.name || !declared.source || !declared.function)
    throw error("a kernel of the library lacks its operator's name, its text or its function");
  const LibraryOperator* const op = find_library_operator(declared.name);
  if (!op || op->library != library)
    throw error("there is a kernel for {}, which is no operator of the library", declared.name);
  if (declared.result < 0 || static_cast<std::size_t>(declared.result) >= op->signature.results.size())
    throw error("the kernel of {} counts the elements of result {}, which there is not", declared.name,
                declared.result);
  return {declared.name, declared.source, declared.function, static_cast<std::size_t>(declared.result),
          library};
}

}  // namespace

void add_operator_library(const tenon_operator_library& library, const tenon_kernel_library* of_gpus,
                          const std::filesystem::path& path) {
  check_version(library.abi);
  if (library.count > 0 && !library.operators) throw error("the library lists no operators");
  if (of_gpus) check_version(of_gpus->abi);
  if (of_gpus && of_gpus->count > 0 && !of_gpus->kernels) throw error("the library lists no kernels");
  for (std::uint32_t i = 0; i < library.count; ++i)
    operators().push_back(checked(library.operators[i], path));
  for (std::uint32_t i = 0; of_gpus && i < of_gpus->count; ++i)
    kernels().push_back(checked(of_gpus->kernels[i], path));
  libraries().push_back(path);
}

void load_operator_library(const std::filesystem::path& given) {
  std::error_code failed;
  const auto path = std::filesystem::absolute(given, failed);
  if (std::find(libraries().begin(), libraries().end(), path) != libraries().end()) return;
  try {
    const Opened library = opened(path);
    add_operator_library(library.operators, library.kernels, path);
  } catch (Error& e) { throw e.at(given.string()); }
}

const LibraryOperator* find_library_operator(std::string_view name) {
  const auto found = std::find_if(operators().begin(), operators().end(),
                                  [&](const LibraryOperator& op) { return op.name == name; });
  return found == operators().end() ? nullptr : &*found;
}

const LibraryKernel* find_library_kernel(std::string_view name) {
  const auto found = std::find_if(kernels().begin(), kernels().end(),
                                  [&](const LibraryKernel& kernel) { return kernel.name == name; });
  return found == kernels().end() ? nullptr : &*found;
}

const std::vector<LibraryOperator>& library_operators() { return operators(); }
std::vector<std::filesystem::path> operator_libraries() { return libraries(); }

}  // namespace tenon
