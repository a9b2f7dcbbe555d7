#include "base/cut_file.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "base/temporary_path.h"

namespace tenon {

/// What the handler reads. Free while `begin` is null.
struct MappedRange::Slot {
  std::atomic<const std::byte*> begin{nullptr};
  std::atomic<std::size_t> bytes{0};
  std::atomic<const char*> path{nullptr};

  static std::array<Slot, 256> all;
};

std::array<MappedRange::Slot, 256> MappedRange::Slot::all;

MappedRange::MappedRange(std::span<const std::byte> bytes, const std::filesystem::path& path)
    : slot_(nullptr) {
  for (Slot& slot : Slot::all) {
    const std::byte* free = nullptr;
    if (bytes.empty() || !slot.begin.compare_exchange_strong(free, bytes.data())) continue;
    slot.path = path.c_str();
    slot.bytes = bytes.size();
    slot_ = &slot;
    return;
  }
}

MappedRange::~MappedRange() {
  if (!slot_) return;
  slot_->bytes = 0;
  slot_->path = nullptr;
  slot_->begin = nullptr;
}

bool MappedRange::holds(std::span<const std::byte> bytes) {
  for (const Slot& slot : Slot::all) {
    const std::byte* begin = slot.begin.load();
    if (begin && bytes.data() >= begin && bytes.data() + bytes.size() <= begin + slot.bytes.load())
      return true;
  }
  return false;
}

namespace {

// Async-signal-safe.
void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

}  // namespace

void MappedRange::on_bus_error(int number, void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  for (const Slot& slot : Slot::all) {
    const std::byte* begin = slot.begin.load();
    if (!begin || at < begin || at >= begin + slot.bytes.load()) continue;
    say("error: the file was cut or overwritten while it was read\n  at: ");
    say(slot.path.load());
    say("\n  try: run it again; replace a file in use by renaming a new one over it: mv new.tenon "
        "model.tenon\n");
    remove_temporary_paths();
    ::_exit(4);
  }
  ::signal(number, SIG_DFL);  // raised again, with its default action, when this handler returns
}

void report_cut_files() {
  struct sigaction action = {};
  action.sa_sigaction = [](int number, siginfo_t* info, void*) {
    MappedRange::on_bus_error(number, info->si_addr);
  };
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace tenon
