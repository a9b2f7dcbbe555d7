// Reading a TorchScript file: its format is detected and checked here, parsed by LibTorch in a process of its
// own.
#include "converter/torchscript/load.h"

#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/zip.h"
#include "converter/archive/file_format.h"
#include "converter/tenon_torch.h"
#include "converter/torchscript/check.h"

namespace tenon::torchscript {
namespace {

constexpr std::size_t kLargestProgram = std::size_t{1} << 30;  // JSON; real models need a few MB
constexpr int kFailed = 2;  // exit code of tenon-torch with an error record

Error failure(ChildProcess& child, ChildProcess::Io io, const ChildProcess::Status& status,
              const std::string& answer, const LoadOptions& options) {
  if (io == ChildProcess::Io::timed_out) {
    return error("LibTorch was still reading the file after {} s", options.timeout.count())
        .hint("the file is hostile, or the machine is too busy");
  }
  if (io == ChildProcess::Io::done)
    return error("the program of the file is larger than {} bytes", kLargestProgram);
  if (status.crashed) {
    return error("LibTorch crashed while reading the file ({}): the file is damaged or hostile",
                 ::strsignal(status.code))
        .hint("copy or export the file again");
  }
  const auto record = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (status.code == kFailed && record.is_object() && record.contains("error")) {
    const Error said = error_of(record);
    if (said.code() == environment_failed)
      return error("{}", said.message()).hint("if you trust the file, allow more: --memory 16GiB");
    return Error(said).hint("copy or export the file again");
  }
  return error("tenon-torch failed with exit code {}: {}", status.code, child.complaints());
}

std::string run_reader(const std::filesystem::path& path, std::uint64_t file_size,
                       const LoadOptions& options) {
  const auto deadline = ChildProcess::Clock::now() + options.timeout;
  std::vector<std::string> arguments = {"read",          std::filesystem::absolute(path).string(),
                                        "--memory",      std::to_string(options.memory_limit + 2 * file_size),
                                        "--cpu-seconds", std::to_string(options.timeout.count() + 1)};
  const auto child = start_tenon_torch(std::move(arguments));
  std::string answer;
  const auto io = child->read_all(answer, kLargestProgram, deadline);
  if (io != ChildProcess::Io::closed) child->kill();
  const auto status = child->wait(deadline);
  if (io != ChildProcess::Io::closed || status.crashed || status.code != 0) {
    throw failure(*child, io, status, answer, options);
  }
  return answer;
}

int format_version(const ZipReader& zip) {
  int version = 0;
  for (const ZipMember& entry : zip.members()) {
    if (inside_root(entry.name) != "version") continue;
    const std::string text = zip.read_text(entry, 64);
    std::from_chars(text.data(), text.data() + text.size(), version);
  }
  return version;
}

std::vector<std::string> extra_files(const ZipReader& zip) {
  constexpr std::string_view kFolder = "extra/";
  std::vector<std::string> names;
  for (const ZipMember& entry : zip.members()) {
    const std::string_view name = inside_root(entry.name);
    if (name.starts_with(kFolder)) names.emplace_back(name.substr(kFolder.size()));
  }
  return names;
}

}  // namespace

Program load(const std::filesystem::path& path, const LoadOptions& options) {
  try {
    const auto mapping = open_checked(path);
    const ZipReader zip(mapping->bytes());
    Program program = decode(run_reader(path, mapping->bytes().size(), options), mapping->bytes());
    zip.check_stored();  // LibTorch reads damaged weights as they are
    program.path = path.string();
    program.file = mapping;
    program.format_version = format_version(zip);
    program.extra_files = extra_files(zip);
    return program;
  } catch (Error& e) {
    if (e.where().empty()) e.at(path.string());
    throw;
  }
}

}  // namespace tenon::torchscript
