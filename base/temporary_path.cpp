#include "base/temporary_path.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/environment.h"

namespace tenon {

/// An entry of the list that the signal handler walks, the newest first: what is inside a folder goes before
/// the folder. Entries are never freed, because a handler may be reading them at any moment; a process makes
/// few.
struct TemporaryPath::Entry {
  const std::string path;
  const pid_t process;
  std::atomic<bool> exists{true};
  Entry* next = nullptr;

  static std::atomic<Entry*> head;

  static Entry* add(std::string path) {
    auto* entry = new Entry{std::move(path), ::getpid()};
    entry->next = head.load();
    while (!head.compare_exchange_weak(entry->next, entry)) {}
    return entry;
  }

  // Async-signal-safe. A forked child leaves its parent's files alone.
  void remove() const {
    if (exists.load() && process == ::getpid() && ::unlink(path.c_str()) != 0) ::rmdir(path.c_str());
  }

  static void on_signal(int number) {
    remove_temporary_paths();
    ::raise(number);  // delivered, with its default action, when this handler returns
  }
};

std::atomic<TemporaryPath::Entry*> TemporaryPath::Entry::head{nullptr};

TemporaryPath::TemporaryPath(std::string path) : entry_(Entry::add(std::move(path))) {}

TemporaryPath::TemporaryPath(TemporaryPath&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}

TemporaryPath::~TemporaryPath() {
  if (!entry_) return;
  entry_->remove();
  release();
}

const char* TemporaryPath::c_str() const { return entry_->path.c_str(); }

void TemporaryPath::release() { std::exchange(entry_, nullptr)->exists = false; }

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) {
  std::string pattern = (parent / ".tenon-XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    throw system_error(errno, "no folder can be made here").at(parent.empty() ? "." : parent.string());
  path_ = pattern;
  entries_.emplace_back(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  while (!entries_.empty()) entries_.pop_back();
}

std::filesystem::path TemporaryFolder::file(const std::string& name) {
  entries_.emplace_back((path_ / name).string());
  return path_ / name;
}

void remove_temporary_paths() {
  for (const auto* entry = TemporaryPath::Entry::head.load(); entry; entry = entry->next) entry->remove();
}

void remove_temporary_paths_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = TemporaryPath::Entry::on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
  }
}

}  // namespace tenon
