// What came of a case.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tenon {

/// One thing that is wrong with a case.
struct Failure {
  std::string kind;     // one of failure_kinds
  std::string message;  // one line
  std::string details;  // further lines, each ended; may be empty
  std::string file;     // the case's file that says otherwise; empty: the model
  nlohmann::ordered_json data = nlohmann::ordered_json::object();  // the same for programs
};

/// Kinds of failures, in words that stay (docs/check.md).
namespace failure {
inline constexpr const char* outputs = "outputs";      // a stored output differs
inline constexpr const char* graph = "graph";          // the fused graph is another
inline constexpr const char* limit = "limit";          // something is larger than case.toml allows
inline constexpr const char* slower = "slower";        // it takes longer than case.toml allows
inline constexpr const char* error = "error";          // the model or the case cannot be read or run
inline constexpr const char* unsupported = "refused";  // the model is not supported
inline constexpr const char* accepted = "accepted";    // the model is supported, and should not be
inline constexpr const char* crash = "crash";          // the process ended by a signal
inline constexpr const char* timeout = "timeout";
inline constexpr const char* memory = "memory";  // the process needed more than it may have
}  // namespace failure

/// What was measured on the way; -1: not reached.
struct Measures {
  std::int64_t nodes = -1, steps = -1, reference_steps = -1, arena_bytes = -1, artifact_bytes = -1;
  int samples = 0;                       // runs that were compared
  double relative_error = -1;            // the largest of all outputs
  std::map<std::string, int> operators;  // by kind
};

enum class Status : std::uint8_t { passed, failed, skipped };

struct CaseResult {
  std::string name;
  std::string model;  // its path
  Status status = Status::passed;
  std::string reason;  // of a skipped one
  double seconds = 0;
  std::vector<Failure> failures;
  std::vector<std::string> recorded;  // what --update wrote: "out_0.npy: new"
  std::vector<std::string> notes;     // what could not be checked here
  /// Which outputs were compared by types and sizes only, and why; empty: none.
  std::string types_only;
  Measures measures;

  void fail(Failure failure) {
    status = Status::failed;
    failures.push_back(std::move(failure));
  }
};

std::string_view str(Status);

nlohmann::ordered_json to_json(const CaseResult&);
/// Reads to_json's form. Throws nlohmann::json::exception.
CaseResult case_result(const nlohmann::ordered_json&);

}  // namespace tenon
