#include "converter/exported/load.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "converter/exported/archive.h"
#include "converter/exported/program_reader.h"
#include "converter/exported/weights.h"

namespace tenon::exported {

torchscript::Program load(const std::filesystem::path& path, const std::filesystem::path& weights) {
  try {
    const Archive archive(path);
    torchscript::Program program;
    program.path = path.string();
    program.file = archive.file();
    std::map<std::string, torchscript::IValue> given;
    if (!weights.empty()) given = read_weights(weights, program);
    read_program(archive.program(), archive.read_tensors(program, given), program);
    for (const auto& [name, tensor] : given)
      if (!program.root->find(name)) program.unused_weights.push_back(name);
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
