#include "converter/exported/load.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "converter/exported/archive.h"
#include "converter/exported/program_reader.h"

namespace tenon::exported {

torchscript::Program load(const std::filesystem::path& path) {
  try {
    const Archive archive(path);
    torchscript::Program program;
    program.path = path.string();
    program.file = archive.file();
    read_program(archive.program(), archive.read_tensors(program), program);
    return program;
  } catch (const nlohmann::json::exception& e) {
    throw error("the archive does not hold together: {}", e.what())
        .at(path.string())
        .hint("copy or export the file again");
  } catch (Error& e) {
    if (e.where().empty()) e.at(path.string());
    throw;
  }
}

}  // namespace tenon::exported
