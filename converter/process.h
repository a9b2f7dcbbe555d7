// A child process that is talked to over its standard input and output.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tenon {

struct ChildOptions {
  std::filesystem::path folder;    // where it starts; empty: where we are
  bool clear_environment = false;  // it gets none of our variables
  bool own_group = false;          // a process group of its own: signals to ours do not reach it
};

/// Started without a shell and without any of our open files; killed and reaped when this object dies.
/// What it prints on standard error is kept for messages. Use one from one thread at a time; the thread that
/// starts a child must outlive it.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Io { done, closed, timed_out };

  /// Throws Error when the program cannot be started.
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
               const ChildOptions& options = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  Io write(std::span<const std::byte> bytes, Clock::time_point deadline);
  /// Fills all of `bytes`.
  Io read(std::span<std::byte> bytes, Clock::time_point deadline);
  /// Appends until the child closes its output (Io::closed), or `limit` bytes are reached (Io::done).
  Io read_all(std::string& text, std::size_t limit, Clock::time_point deadline);

  struct Status {
    bool crashed = false;
    int code = 0;  // exit code, or the signal that ended it
  };
  /// Waits for the end; kills the child when `deadline` passes first.
  Status wait(Clock::time_point deadline);
  void kill();
  /// Asks the child to end (SIGTERM) and kills it when it has not after a second.
  void stop();
  /// The end of what the child wrote on standard error.
  std::string complaints() const;

 private:
  void signal(int number) const;

  pid_t pid_ = -1;
  bool leads_group_ = false;
  int socket_ = -1;    // its standard input and output
  int messages_ = -1;  // its standard error: a file in memory
  Status status_;
};

/// The tenon-torch that belongs to this program: beside it, or in ../libexec/tenon.
/// Throws Error when there is none.
std::filesystem::path find_tenon_torch();

/// Has tenon-torch load the operator libraries that this process has loaded.
void add_operator_libraries(std::vector<std::string>& arguments);

}  // namespace tenon
