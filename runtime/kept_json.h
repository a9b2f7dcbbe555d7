// A JSON file of entries by key that can be made again: the peaks of a machine, how its kernels differ.
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tenon {

/// $XDG_CACHE_HOME/tenon/NAME, else ~/.cache/tenon/NAME; empty where neither is known: then nothing is kept.
std::filesystem::path cache_file(std::string_view name);
/// "AMD EPYC | avx2 | tenon 0.1.0 | threads 2": what was measured of this hardware by this version.
std::string kept_key(std::string_view hardware, int threads);

/// {"schema": ..., entries: {key: value}}. A file that is something else counts as empty, and one that cannot
/// be written is no error.
class KeptJson {
 public:
  KeptJson(std::filesystem::path file, std::string schema, std::string entries)
      : file_(std::move(file)), schema_(std::move(schema)), entries_(std::move(entries)) {}

  const std::filesystem::path& file() const { return file_; }
  /// Why the file counts as empty; "" where it does not, or is not there.
  std::string problem() const;
  /// null where there is none.
  nlohmann::json find(const std::string& key) const;
  /// False where the file could not be written.
  bool keep(const std::string& key, nlohmann::json value) const;

 private:
  nlohmann::json read() const;
  bool is_ours(const nlohmann::json&) const;

  std::filesystem::path file_;
  std::string schema_, entries_;
};

}  // namespace tenon
