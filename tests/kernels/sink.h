// A hook of an epilogue that keeps what it is handed.
#pragma once
#include <vector>

namespace tenon::cpu {

struct Sink {
  std::vector<float> result;  // of all rows
  long columns;
};
inline void write_to_sink(const void* context, float* tile, long stride, long row0, long rows, long col0,
                          long cols) {
  auto& sink = *static_cast<Sink*>(const_cast<void*>(context));
  for (long r = 0; r < rows; r++)
    for (long c = 0; c < cols; c++)
      sink.result[static_cast<std::size_t>((row0 + r) * sink.columns + col0 + c)] = tile[r * stride + c];
}

}  // namespace tenon::cpu
