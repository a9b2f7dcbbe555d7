// Libraries of a GPU's vendor, opened while the program runs.
#pragma once
#include <dlfcn.h>

#include <string>
#include <vector>

#include "runtime/gpu/driver.h"

namespace tenon::gpu {

/// The first of the names that is there, as the system looks for it or in one of library_folders(). Null
/// where none is; `library` says what was found.
void* open_first(const std::vector<std::string>& names, Library& library);
/// Where one lies that was found.
std::string folder_of(const Library&);

/// A function that the library may have. "none": its vendor has no such function.
template <class Function>
void find_optional_function(Function*& function, const std::string& name, void* handle) {
  if (handle && name != "none") function = reinterpret_cast<Function*>(dlsym(handle, name.c_str()));
}

/// A function that the library should have.
template <class Function>
void find_function(Function*& function, const std::string& name, void* handle, Library& library) {
  find_optional_function(function, name, handle);
  if (handle && !function && name != "none" && library.lacks.empty()) library.lacks = name;
}

/// What load(vendor) gives: called once for each vendor, for as long as the program runs.
template <auto load>
const auto& loaded_once(Vendor vendor) {
  if (vendor == Vendor::cuda) {
    static const auto of_cuda = load(Vendor::cuda);
    return of_cuda;
  }
  static const auto of_hip = load(Vendor::hip);
  return of_hip;
}

}  // namespace tenon::gpu
