#include "runtime/kept_json.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/error.h"
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

json KeptJson::read() const {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file_, unknown))
    return {{"schema", schema_}, {entries_, json::object()}};
  std::ifstream in(file_);
  const json found = in ? json::parse(in, nullptr, false) : json();
  const bool ours = found.is_object() && found.value("schema", json()) == schema_ &&
                    found.value(entries_, json()).is_object();
  return ours ? found : json{{"schema", schema_}, {entries_, json::object()}};
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
