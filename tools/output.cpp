#include "tools/output.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/atomic_file.h"
#include "base/environment.h"
#include "tools/model_path.h"

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

void check_outputs_apart(std::initializer_list<std::string_view> paths) {
  std::set<std::filesystem::path> seen;
  for (const std::string_view text : paths) {
    if (text.empty()) continue;
    const std::filesystem::path path(text);
    if (!seen.insert(path.lexically_normal()).second)
      throw error("two outputs are to be written to {}", text == "-" ? "standard output" : text)
          .hint("give each a file of its own");
    const auto folder = path.parent_path();
    if (text != "-" && !folder.empty() && !std::filesystem::is_directory(folder))
      throw error("there is no folder {}", folder.string())
          .at(path.string())
          .hint("mkdir -p " + in_shell(folder.string()));
  }
}

void check_is_file(std::string_view path) {
  if (path == "-")
    throw error("standard output is taken by the text").at("--json").hint("give the name of a file");
}

}  // namespace tenon::tools
