// Shuffles, votes and shared variables, by the emulator's meetings of lanes.
#pragma once
#include "interface.h"

namespace gpusim {
inline namespace GPU_WAVE {

struct Shuffle {
  uint64_t value, result;
  int source;
};

/// The value of lane `source`; all bits set where that lane does not take part.
template <class T>
T shuffle(uint64_t mask, T value, int source, Site site) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  Shuffle operand{0, 0, source};
  __builtin_memcpy(&operand.value, &value, sizeof value);
  collective(
      mask, &operand,
      [](void** operands, uint64_t lanes) GPU_NOSAN {
        for (uint64_t rest = lanes; rest; rest &= rest - 1) {
          Shuffle* s = static_cast<Shuffle*>(operands[__builtin_ctzll(rest)]);
          s->result = lanes >> s->source & 1 ? static_cast<Shuffle*>(operands[s->source])->value : ~0ull;
        }
      },
      "a shuffle", site);
  __builtin_memcpy(&value, &operand.result, sizeof value);
  return value;
}

struct Vote {
  uint64_t vote, result;
};

inline uint64_t ballot(uint64_t mask, bool vote, Site site) {
  Vote operand{vote, 0};
  collective(
      mask, &operand,
      [](void** operands, uint64_t lanes) GPU_NOSAN {
        uint64_t result = 0;
        for (uint64_t rest = lanes; rest; rest &= rest - 1)
          result |= static_cast<Vote*>(operands[__builtin_ctzll(rest)])->vote << __builtin_ctzll(rest);
        for (uint64_t rest = lanes; rest; rest &= rest - 1)
          static_cast<Vote*>(operands[__builtin_ctzll(rest)])->result = result;
      },
      "a ballot", site);
  return operand.result;
}

inline int next_shared_variable = 0;

/// The variable that `Tag`, a lambda's type, names: the same for all threads of a block.
template <class T, class Tag>
T& shared_var(Tag) {
  static const int id = __atomic_fetch_add(&next_shared_variable, 1, __ATOMIC_RELAXED);
  return *static_cast<T*>(shared_variable(id, sizeof(T)));
}

}  // namespace GPU_WAVE
}  // namespace gpusim
