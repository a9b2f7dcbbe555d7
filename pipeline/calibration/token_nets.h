// Networks of tokens, sounds and rows.
#pragma once
#include <memory>

#include "ir/graph.h"

namespace tenon {

/// Norms stand before attention and linears, or behind them.
std::unique_ptr<Graph> encoder_net(std::int64_t batch, std::int64_t length, std::int64_t channels,
                                   std::int64_t heads, bool normalises_first, DType dtype);
std::unique_ptr<Graph> reader_net(DType dtype);
std::unique_ptr<Graph> writer_net(DType dtype);
std::unique_ptr<Graph> window_net();
std::unique_ptr<Graph> products_net();
std::unique_ptr<Graph> sound_net();
std::unique_ptr<Graph> perceptron_net(std::int64_t rows, DType dtype);
std::unique_ptr<Graph> places_net();

}  // namespace tenon
