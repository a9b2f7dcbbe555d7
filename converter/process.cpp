// A child process that is talked to over its standard input and output.
#include "converter/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>

#include "base/environment.h"
#include "ir/operator_library.h"

namespace tenon {
namespace {

constexpr std::size_t kLongestComplaint = 500;

/// Waits until the socket is ready; false when the deadline passes first.
bool wait_ready(int socket, short what, ChildProcess::Clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - ChildProcess::Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{socket, what, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the read or write that follows reports it
  }
}

bool is_worth_retrying(int reason) { return reason == EINTR || reason == EAGAIN; }

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                           const ChildOptions& options)
    : leads_group_(options.own_group) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw system_error(errno, "no socket can be made for a child process");
  }
  socket_ = ends[0];
  messages_ = ::memfd_create("messages", MFD_CLOEXEC);

  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  if (messages_ >= 0) posix_spawn_file_actions_adddup2(&files, messages_, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  if (!options.folder.empty()) posix_spawn_file_actions_addchdir_np(&files, options.folder.c_str());

  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) sigaddset(&defaults, signal);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  const int group = options.own_group ? POSIX_SPAWN_SETPGROUP : 0;
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));

  char* no_variables[] = {nullptr};
  const int failure = ::posix_spawn(&pid_, argv[0], &files, &attributes, argv.data(),
                                    options.clear_environment ? no_variables : environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  if (failure != 0) {
    ::close(socket_);
    if (messages_ >= 0) ::close(messages_);
    throw system_error(failure, program.string() + " cannot be started");
  }
  // A limit that this process set for its own data is not the child's.
  rlimit data = {};
  ::getrlimit(RLIMIT_DATA, &data);
  data.rlim_cur = data.rlim_max;
  ::prlimit(pid_, RLIMIT_DATA, &data, nullptr);
}

ChildProcess::~ChildProcess() {
  kill();
  ::close(socket_);
  if (messages_ >= 0) ::close(messages_);
}

ChildProcess::Io ChildProcess::write(std::span<const std::byte> bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    if (!wait_ready(socket_, POLLOUT, deadline)) return Io::timed_out;
    const ssize_t written = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0 && is_worth_retrying(errno)) continue;
    if (written <= 0) return Io::closed;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return Io::done;
}

ChildProcess::Io ChildProcess::read(std::span<std::byte> bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    if (!wait_ready(socket_, POLLIN, deadline)) return Io::timed_out;
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && is_worth_retrying(errno)) continue;
    if (got <= 0) return Io::closed;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return Io::done;
}

ChildProcess::Io ChildProcess::read_all(std::string& text, std::size_t limit, Clock::time_point deadline) {
  std::vector<std::byte> chunk(std::size_t{1} << 18);
  while (text.size() < limit) {
    if (!wait_ready(socket_, POLLIN, deadline)) return Io::timed_out;
    const ssize_t got =
        ::recv(socket_, chunk.data(), std::min(chunk.size(), limit - text.size()), MSG_DONTWAIT);
    if (got < 0 && is_worth_retrying(errno)) continue;
    if (got <= 0) return Io::closed;
    text.append(reinterpret_cast<const char*>(chunk.data()), static_cast<std::size_t>(got));
  }
  return Io::done;
}

ChildProcess::Status ChildProcess::wait(Clock::time_point deadline) {
  int status = 0;
  while (pid_ > 0) {
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      status_ = WIFSIGNALED(status) ? Status{true, WTERMSIG(status)} : Status{false, WEXITSTATUS(status)};
      pid_ = -1;
    } else if (ended < 0 && errno != EINTR) {
      pid_ = -1;
    } else if (Clock::now() > deadline) {
      kill();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return status_;
}

void ChildProcess::signal(int number) const { ::kill(leads_group_ ? -pid_ : pid_, number); }

void ChildProcess::kill() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
  status_ = {true, SIGKILL};
  pid_ = -1;
}

void ChildProcess::stop() {
  if (pid_ > 0) signal(SIGTERM);
  wait(Clock::now() + std::chrono::seconds(1));
}

std::string ChildProcess::complaints() const {
  const off_t size = messages_ < 0 ? 0 : ::lseek(messages_, 0, SEEK_END);
  const auto wanted =
      std::min<std::size_t>(static_cast<std::size_t>(std::max<off_t>(size, 0)), kLongestComplaint);
  std::string text(wanted, '\0');
  const ssize_t got =
      wanted == 0 ? 0 : ::pread(messages_, text.data(), wanted, size - static_cast<off_t>(wanted));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

std::filesystem::path find_tenon_torch() {
  std::error_code ignored;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::filesystem::path> places{here / "tenon-torch",
                                            here.parent_path() / "libexec/tenon/tenon-torch"};
#ifdef TENON_TORCH_EXECUTABLE
  places.emplace_back(TENON_TORCH_EXECUTABLE);
#endif
  for (const auto& place : places) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  throw environment_error(
      "LibTorch's process, tenon-torch, is not there: it is neither {} nor {}. It reads .pt files, and runs "
      "the source for comparisons",
      places[0].string(), places[1].string())
      .hint(
          "./dev build makes it, or copy it beside tenon; without it .pt2 files convert with --no-verify, "
          ".onnx "
          "files as ever");
}

void add_operator_libraries(std::vector<std::string>& arguments) {
  for (const std::filesystem::path& library : operator_libraries()) {
    arguments.emplace_back("--operators");
    arguments.push_back(library.string());
  }
}

}  // namespace tenon
