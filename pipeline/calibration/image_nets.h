// Networks of images and volumes.
#pragma once
#include <memory>

#include "ir/graph.h"

namespace tenon {

std::unique_ptr<Graph> residual_net(DType dtype);
/// Of images of side x side; the middle convolution of a block has groups.
std::unique_ptr<Graph> bottleneck_net(std::int64_t side, std::int64_t groups, DType dtype);
std::unique_ptr<Graph> mobile_clamped();
std::unique_ptr<Graph> mobile_excited();
std::unique_ptr<Graph> mobile_small(DType dtype);
std::unique_ptr<Graph> modern_net();
std::unique_ptr<Graph> dense_net();
std::unique_ptr<Graph> branches_net();
std::unique_ptr<Graph> shuffled_net();
/// The way up by transposed convolutions, or by larger images.
std::unique_ptr<Graph> up_and_down_net(bool transposes);
std::unique_ptr<Graph> picture_net();
std::unique_ptr<Graph> volume_net();
std::unique_ptr<Graph> pooling_net();

}  // namespace tenon
