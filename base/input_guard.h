// What a run reads, it does not overwrite, and nobody else does meanwhile.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tenon {

/// For the whole process; off until a tool says otherwise, as a library may write what it has read.
enum class InputGuard : std::uint8_t {
  off,       // nothing is remembered
  remember,  // the files that are opened for reading (MappedFile, InputFile)
  refuse,    // and AtomicFile replaces none of them
};
void guard_inputs(InputGuard);

/// An input that is read otherwise, later, or by another process. No such file: nothing.
void remember_input(const std::filesystem::path&);
void remember_input(const std::filesystem::path&, const struct stat&);

/// The inputs remembered since the last call, for the process that started this one.
std::vector<std::filesystem::path> take_remembered_inputs();

/// Throws Error when the output is a file of this run's inputs, by whatever name: links count as what they
/// lead to.
void refuse_to_replace_input(const std::filesystem::path& output);

/// Throws Error when an input was written in place since it was opened: what was read of it may be of neither
/// version. One that another file was renamed to is not: the bytes that were opened stay.
void check_inputs_unchanged();

}  // namespace tenon
