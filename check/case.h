// The cases of a folder: where they are and what belongs to each.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "check/settings.h"

namespace tenon {

struct Case {
  std::string name;  // the folder, relative to the one that was searched; "." for that one itself
  std::filesystem::path folder;
  std::filesystem::path model;
  CaseSettings settings;

  /// Of a file of this case.
  std::filesystem::path file(std::string_view in_folder) const { return folder / in_folder; }
};

/// Names of the files that a case may hold.
inline constexpr const char* settings_file = "case.toml";
inline constexpr const char* graph_file = "fused.ir";

/// The case in a folder itself. Throws Error when it holds no model, or several and case.toml names none.
Case read_case(const std::filesystem::path& folder, std::string name);

/// Makes the files that the case reads, and those that --update may make for it, inputs of this run
/// (base/input_guard.h).
void remember_files(const Case&);

/// Every case at or below the folder, by name. A folder with a model or a case.toml is a case; hidden folders
/// and test_data_set_N are not searched; links are followed, a folder is one case however many links lead to
/// it. Throws Error when there is no such folder, no case, or a bad case.toml. `warnings` receives a sentence
/// for each folder that holds a model and is no case.
std::vector<Case> find_cases(const std::filesystem::path& folder, std::vector<std::string>& warnings);

}  // namespace tenon
