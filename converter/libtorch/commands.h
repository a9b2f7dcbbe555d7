// The commands of tenon-torch.
#pragma once
#include <string>

namespace tenon::libtorch {

/// The program of the file as JSON (program_writer.h), from a thread with a big stack.
std::string read_command(const std::string& path);

/// What went wrong, for users: LibTorch's sentence without its C++ backtrace. Called inside a catch block.
std::string describe_current_exception();

}  // namespace tenon::libtorch
