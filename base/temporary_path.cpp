#include "base/temporary_path.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/environment.h"

namespace tenon {

/// An entry of the list that the signal handler walks. A handler may be reading them at any moment, so
/// entries are never freed: the next path takes one that is free. There are as many as paths were in use at
/// once.
struct TemporaryPath::Entry {
  enum class State : std::uint8_t { free, taken, in_use, condemned };

  std::string path;
  pid_t process = 0;
  std::atomic<State> state{State::taken};  // whoever changes it from free or in_use may touch the rest
  Entry* next = nullptr;

  static std::atomic<Entry*> head;

  static Entry* add(std::string path) {
    Entry* entry = head.load();
    while (entry && !entry->changes(State::free, State::taken)) entry = entry->next;
    const bool is_new = !entry;
    if (is_new) entry = new Entry;
    entry->path = std::move(path);
    entry->process = ::getpid();
    entry->state = State::in_use;
    if (is_new) {
      entry->next = head.load();
      while (!head.compare_exchange_weak(entry->next, entry)) {}
    }
    return entry;
  }

  bool changes(State from, State to) { return state.compare_exchange_strong(from, to); }

  // Async-signal-safe. A forked child leaves its parent's files alone.
  bool remove() const {
    return process == ::getpid() && (::unlink(path.c_str()) == 0 || ::rmdir(path.c_str()) == 0);
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

void TemporaryPath::release() {
  std::exchange(entry_, nullptr)->changes(Entry::State::in_use, Entry::State::free);
}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) : process_(::getpid()) {
  std::string pattern = (parent / ".tenon-XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    throw system_error(errno, "no folder can be made here").at(parent.empty() ? "." : parent.string());
  path_ = pattern;
  entries_.emplace_back(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code failed;
  if (process_ == ::getpid()) std::filesystem::remove_all(path_, failed);
}

std::filesystem::path TemporaryFolder::file(const std::string& name) {
  entries_.emplace_back((path_ / name).string());
  return path_ / name;
}

void remove_temporary_paths() {
  using Entry = TemporaryPath::Entry;
  Entry* const all = Entry::head.load();
  for (Entry* e = all; e; e = e->next) e->changes(Entry::State::in_use, Entry::State::condemned);
  for (bool any = true; any;) {  // a folder goes when what is inside has gone
    any = false;
    for (const Entry* e = all; e; e = e->next) any |= e->state == Entry::State::condemned && e->remove();
  }
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
