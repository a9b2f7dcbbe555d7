#include "check/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>

#include "base/environment.h"
#include "base/input_guard.h"
#include "pipeline/files.h"
#include "verify/samples.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view model_names[] = {"model.pt", "model.pt2", "model.onnx", "model.tenon"};

std::vector<std::string_view> models_in(const fs::path& folder) {
  std::vector<std::string_view> found;
  for (const std::string_view name : model_names)
    if (fs::exists(folder / name)) found.push_back(name);
  return found;
}

bool is_case(const fs::path& folder) {
  return fs::exists(folder / settings_file) || !models_in(folder).empty();
}

// "net.pt" in a folder that is no case.
std::optional<std::string> other_model(const fs::path& folder) {
  std::set<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    for (const std::string_view name : model_names)
      if (entry.path().extension() == fs::path(name).extension() && entry.is_regular_file())
        found.insert(entry.path().filename());
  return found.empty() ? std::nullopt : std::optional(*found.begin());
}

class Search {
 public:
  explicit Search(std::vector<std::string>& warnings) : warnings_(warnings) {}

  void folder(const fs::path& path, const std::string& name) {
    if (!seen_.insert(fs::canonical(path)).second) return;  // a link that leads back
    if (is_case(path))
      cases.push_back(read_case(path, name.empty() ? "." : name));
    else if (const auto model = other_model(path))
      warnings_.push_back(
          fmt::format("{} is no case: call it model{}, or name it in case.toml (model = \"{}\")",
                      (path / *model).string(), fs::path(*model).extension().string(), *model));
    // Folders before links to them, which would give them another name.
    for (const bool links : {false, true})
      for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
        const std::string child = entry.path().filename();
        std::error_code broken_link;
        if (child.starts_with('.') || child.starts_with("test_data_set_") || entry.is_symlink() != links ||
            !entry.is_directory(broken_link))
          continue;
        folder(entry.path(), name.empty() ? child : name + "/" + child);
      }
  }

  std::vector<Case> cases;

 private:
  std::vector<std::string>& warnings_;
  std::set<fs::path> seen_;
};

}  // namespace

Case read_case(const fs::path& folder, std::string name) {
  Case c{.name = std::move(name), .folder = folder};
  if (fs::exists(c.file(settings_file))) c.settings = read_settings(c.file(settings_file));
  if (!c.settings.model.empty()) {
    c.model = c.file(c.settings.model);
    if (!fs::exists(c.model))
      throw error("case.toml names the model {}, which is not there", c.settings.model).at(folder.string());
    return c;
  }
  const auto models = models_in(folder);
  if (models.empty())
    throw error("the case holds no model")
        .at(folder.string())
        .hint(fmt::format("a model is called {}, or named by model = in case.toml",
                          fmt::join(model_names, ", ")));
  if (models.size() > 1)
    throw error("the case holds {} models: {}", models.size(), fmt::join(models, ", "))
        .at(folder.string())
        .hint("name one in case.toml, such as model = \"model.pt\", or give each a folder of its own");
  c.model = c.file(models.front());
  return c;
}

void remember_files(const Case& c) {
  const fs::path baseline = c.file(c.settings.speed.baseline);
  remember_model(c.model);
  remember_samples(c.folder);
  remember_inputs_in(c.folder,
                     [](const std::string& name) { return name == settings_file || name == graph_file; });
  for (const std::string& library : c.settings.libraries) remember_input(c.file(library));
  if (c.settings.speed.baseline.empty()) return;
  remember_model(baseline);
  remember_inputs_in(baseline.parent_path(),
                     [name = baseline.filename()](const std::string& other) { return other == name; });
}

std::vector<Case> find_cases(const fs::path& folder, std::vector<std::string>& warnings) {
  if (fs::is_regular_file(folder))
    throw error("this is a file, and cases are folders")
        .at(folder.string())
        .hint(
            "give the folder that holds the cases; a model alone is compared by tenon verify: docs/check.md");
  if (!fs::is_directory(folder))
    throw error("there is no such folder").at(folder.string()).hint("give a folder of cases: docs/check.md");
  Search search(warnings);
  try {
    search.folder(folder, "");
  } catch (const fs::filesystem_error& e) {
    throw system_error(e.code().value(), "the folder cannot be read").at(e.path1().string());
  }
  if (search.cases.empty())
    throw error("no case is here")
        .at(folder.string())
        .hint("a case is a folder with model.pt or model.tenon in it: docs/check.md");
  std::sort(search.cases.begin(), search.cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return std::move(search.cases);
}

}  // namespace tenon
