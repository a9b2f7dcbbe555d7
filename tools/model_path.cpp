#include "tools/model_path.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/environment.h"
#include "base/nearest.h"
#include "base/shell.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::array model_suffixes = {".pt", ".pt2", ".onnx", ".tenon"};

bool is_model(const fs::path& file) {
  return std::find(model_suffixes.begin(), model_suffixes.end(), file.extension()) != model_suffixes.end();
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, failed), end; !failed && at != end;
       at.increment(failed))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Error not_local(const std::string& url) {
  Error e = error("'{}' is on the network, and Tenon reads local files", url);
  if (url.starts_with("http"))
    return e.hint(fmt::format("download the model first: curl -LO {}", in_shell(url)));
  return e.hint("download the model first, then give the file's name");
}

Error missing(const fs::path& path) {
  Error e = cannot_open(path, ENOENT);
  std::vector<std::string> models = names_in(path.parent_path());
  std::erase_if(models, [](const std::string& name) { return !is_model(name); });
  const std::string name = path.filename().string();
  const std::vector<std::string_view> known(models.begin(), models.end());
  if (const std::string_view close = similar_name(name, known); !close.empty())
    e.hint("did you mean " + path_in_shell((path.parent_path() / close).string()) + "?");
  return e;
}

// What a folder of Hugging Face's hub, of TensorFlow, of OpenVINO is.
std::optional<Error> known_folder(const std::vector<std::string>& names) {
  const auto holds = [&](std::string_view wanted) {
    return std::find(names.begin(), names.end(), wanted) != names.end();
  };
  const bool has_weights = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.ends_with(".safetensors") || (name.starts_with("pytorch_model") && name.ends_with(".bin"));
  });
  if (holds("config.json") && has_weights)
    return error("this is a folder of a model hub: weights and config.json, no graph")
        .hint(
            "load it in Python (transformers.AutoModel.from_pretrained), then "
            "torch.export.save(torch.export.export(model, inputs), 'model.pt2')");
  if (holds("saved_model.pb"))
    return Error("this is a SavedModel of TensorFlow, which Tenon does not read", Exit::unsupported)
        .hint("write ONNX: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx");
  return std::nullopt;
}

Error folder(const fs::path& path) {
  const std::vector<std::string> names = names_in(path);
  if (auto known = known_folder(names)) return known->at(path.string());
  Error e = error("this is a folder, not a model").at(path.string());
  constexpr std::size_t most = 5;
  std::string models;
  std::size_t count = 0;
  for (const std::string& name : names)
    if (is_model(name) && ++count <= most)
      models += (models.empty() ? "" : " or ") + path_in_shell((path / name).string());
  if (count > most) models += fmt::format(", or one of {} more", count - most);
  return e.hint(models.empty() ? "give a .pt, .pt2, .onnx or .tenon file" : "give the file: " + models);
}

}  // namespace

void check_model_path(const std::string& path) {
  constexpr const char* give = "give a .pt, .pt2, .onnx or .tenon file";
  if (path.empty()) throw error("no model is given: its name is empty").hint(give);
  if (path == "-") throw error("a model is not read from standard input").hint(give);
  if (path.find("://") != std::string::npos) throw not_local(path);
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found) throw missing(path);
  if (status.type() == fs::file_type::none) throw cannot_open(path, failed.value());
  if (fs::is_directory(status)) throw folder(path);
}

CLI::Validator model_path() {
  return CLI::Validator(
      [](const std::string& text) {
        check_model_path(text);
        return std::string();
      },
      "");
}

}  // namespace tenon::tools
