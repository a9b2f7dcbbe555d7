// What a run reads, it does not overwrite, and nobody else does meanwhile.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tenon {

/// For the whole process; off until a tool says otherwise, as a library may write what it has read.
enum class InputGuard : std::uint8_t {
  off,       // nothing is remembered
  remember,  // the files that are opened for reading (MappedFile, InputFile)
  refuse,    // and AtomicFile replaces none of them
};
void guard_inputs(InputGuard);

/// A file that this run is going to write. Where it is an input, whichever of the two is named first, that
/// call throws Error, before anything is read of it or written.
void expect_output(const std::filesystem::path&);
/// It is written: who reads it from now on reads a result.
void output_is_written(const std::filesystem::path&);

/// An input that is read otherwise, later, or by another process. No such file: nothing.
void remember_input(const std::filesystem::path&);
void remember_input(const std::filesystem::path&, const struct stat&);
/// The folder's files of such names, also those that are not there yet: the run may make them.
void remember_inputs_in(const std::filesystem::path& folder,
                        std::function<bool(const std::string&)> is_input);

/// The inputs remembered since the last call, for the process that started this one.
std::vector<std::filesystem::path> take_remembered_inputs();

/// Throws Error when the output is a file of this run's inputs, by whatever name: links count as what they
/// lead to.
void refuse_to_replace_input(const std::filesystem::path& output);

/// Throws Error when an input was written in place since it was opened: what was read of it may be of neither
/// version. One that another file was renamed to is not: the bytes that were opened stay.
void check_inputs_unchanged();

}  // namespace tenon
