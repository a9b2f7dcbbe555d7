#include "runtime/kept_json.h"

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/version.h"

namespace tenon {

using nlohmann::json;

std::filesystem::path cache_file(std::string_view name) {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / name;
}

std::string kept_key(std::string_view hardware, int threads) {
  return fmt::format("{} | tenon {} | threads {}", hardware, version(), threads);
}

namespace {

/// null where there is no file, discarded where it holds no JSON or cannot be read.
json content(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) return {};
  if (std::filesystem::is_regular_file(file, unknown)) try {
      return parse_json_or_discard(read_text(file));
    } catch (const Error&) {}  // NOLINT(bugprone-empty-catch): said by `problem`
  return json(json::value_t::discarded);
}

}  // namespace

bool KeptJson::is_ours(const json& j) const {
  return j.is_object() && j.value("schema", json()) == schema_ && j.value(entries_, json()).is_object();
}

std::string KeptJson::problem() const {
  const json found = content(file_);
  return found.is_null() || is_ours(found) ? "" : fmt::format("it holds no JSON of the schema {}", schema_);
}

json KeptJson::read() const {
  json found = content(file_);
  return is_ours(found) ? found : json{{"schema", schema_}, {entries_, json::object()}};
}

json KeptJson::find(const std::string& key) const { return read()[entries_].value(key, json()); }

bool KeptJson::keep(const std::string& key, json value) const {
  if (file_.empty()) return false;
  json all = read();
  all[entries_][key] = std::move(value);
  try {
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
    AtomicFile out(file_);
    out.write(all.dump(2) + "\n");
    out.commit();
    return true;
  } catch (const Error&) { return false; }
}

}  // namespace tenon
