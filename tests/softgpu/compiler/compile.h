// Compiles a kernel source for the CPU.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/options.h"

namespace softgpu {

struct Source {
  std::string text, name;
  std::map<std::string, std::string> headers;
  std::vector<std::string> expressions;  // name expressions: kernels that are instances of templates
};

struct Compiled {
  std::string image;  // empty: it failed
  std::string log;
  bool is_broken = false;  // the compiler itself, not the source
};

/// The name of the kernel of expression `i` in the image.
std::string expression_name(size_t i);

/// Two runs of g++, or none where the cache has the image.
Compiled compile(const Source& source, const Options& options);

}  // namespace softgpu
