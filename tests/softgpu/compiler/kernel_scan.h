// Finds the kernels in a preprocessed source.
#pragma once
#include <string>
#include <vector>

namespace softgpu {

struct KernelName {
  std::string name;
  std::string scope;        // the namespaces around it: "a::b::"
  std::string max_threads;  // the expression in __launch_bounds__, or "0"
};

/// The kernels that `text`, preprocessed with scan/emulation.h, defines. Templates are left out: only a name
/// expression makes a kernel of one.
std::vector<KernelName> find_kernels(const std::string& text);

}  // namespace softgpu
