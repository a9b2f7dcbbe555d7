// The options of a run-time compile.
#pragma once
#include <string>
#include <vector>

namespace softgpu {

struct Options {
  std::string architecture;  // sm_90, gfx942
  std::string preprocessor;  // " '-DX=1' '-Ifolder'", for a shell
  std::string error;  // not empty: an option that no compiler of the vendor takes, or a wrong architecture

  int warp_size() const;
  int shared_bytes() const;  // that a block may have
};

Options read_options(const std::vector<std::string>& words);

/// As one word for a shell.
std::string quoted(const std::string& word);

}  // namespace softgpu
