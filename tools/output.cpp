#include "tools/output.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/atomic_file.h"
#include "base/environment.h"
#include "base/input_guard.h"
#include "pipeline/files.h"
#include "tools/arguments.h"

namespace tenon::tools {

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      throw system_error(errno, "the output cannot be written").at("standard output");
    return;
  }
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

namespace {

// The file behind a name that may not be there yet.
std::string identity(const std::string& name) {
  struct stat info = {};
  if (::stat(name.c_str(), &info) == 0) return fmt::format("{}:{}", info.st_dev, info.st_ino);
  std::error_code failed;
  const auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(behind_links(name)), failed);
  return failed ? name : path.string();
}

}  // namespace

void check_outputs_apart(const std::vector<std::string>& paths) {
  std::set<std::string> seen;
  for (const std::string& text : paths) {
    if (text.empty()) continue;
    if (is_written_directly(text)) {
      check_writable(text);
      continue;
    }
    if (!seen.insert(text == "-" ? text : identity(text)).second)
      throw error("two outputs are to be written to {}", text == "-" ? "standard output" : text)
          .hint("give each a file of its own");
    if (text == "-") continue;
    check_writable(text);
    expect_output(text);
  }
}

void check_files(const CLI::App& verb) {
  std::vector<std::string> inputs, outputs;
  for (const CLI::Option* option : verb.get_options()) {
    const std::string type = option->get_type_name();
    for (const std::string& value : option->results()) {
      const std::string file = split_name(value).second;
      if (type == named_file_written)
        outputs.push_back(file);
      else if (type == file_written)
        outputs.push_back(value);
      else
        inputs.insert(inputs.end(), {value, file});
    }
  }
  for (const std::string& input : inputs) remember_input(input);
  check_outputs_apart(outputs);
  if (!outputs.empty())
    for (const std::string& input : inputs) remember_model(input);
}

void check_is_file(std::string_view path) {
  if (path == "-")
    throw error("standard output is taken by the text").at("--json").hint("give the name of a file");
}

}  // namespace tenon::tools
