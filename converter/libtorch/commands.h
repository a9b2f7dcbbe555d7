// The commands of tenon-torch.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace tenon::libtorch {

/// The program of the file as JSON (program_writer.h), from a thread with a big stack.
std::string read_command(const std::string& path);

/// What went wrong, for users: {"error": LibTorch's sentence without its C++ backtrace, "code": the exit
/// code}. Called inside a catch block.
nlohmann::json describe_current_exception();

}  // namespace tenon::libtorch
