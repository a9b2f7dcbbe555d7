#include "pipeline/calibration/nets.h"

#include "pipeline/calibration/image_nets.h"
#include "pipeline/calibration/token_nets.h"

namespace tenon {
namespace {

template <auto make, auto... arguments>
std::unique_ptr<Graph> of() {
  return make(arguments...);
}

constexpr CalibrationNet nets[] = {
    {"residual", of<residual_net, DType::f32>},
    {"residual bf16", of<residual_net, DType::bf16>},
    {"bottleneck", of<bottleneck_net, 224, 1, DType::f32>},
    {"bottleneck of groups", of<bottleneck_net, 160, 32, DType::f32>},
    {"mobile, clamped", mobile_clamped},
    {"mobile, excited", mobile_excited},
    {"mobile, small", of<mobile_small, DType::f32>},
    {"mobile, small bf16", of<mobile_small, DType::bf16>},
    {"modern", modern_net},
    {"dense", dense_net},
    {"branches", branches_net},
    {"shuffled", shuffled_net},
    {"up and down", of<up_and_down_net, true>},
    {"up and down by resizing", of<up_and_down_net, false>},
    {"picture", picture_net},
    {"encoder 1x128x384", of<encoder_net, 1, 128, 384, 12, false, DType::f32>},
    {"encoder 1x197x192", of<encoder_net, 1, 197, 192, 3, true, DType::f32>},
    {"encoder 1x197x768", of<encoder_net, 1, 197, 768, 12, true, DType::f32>},
    {"encoder 4x64x256", of<encoder_net, 4, 64, 256, 4, false, DType::f32>},
    {"encoder bf16", of<encoder_net, 1, 128, 384, 12, true, DType::bf16>},
    {"reader", of<reader_net, DType::f32>},
    {"writer", of<writer_net, DType::f32>},
    {"writer bf16", of<writer_net, DType::bf16>},
    {"windows", window_net},
    {"products", products_net},
    {"sound", sound_net},
    {"volume", volume_net},
    {"perceptron 1", of<perceptron_net, 1, DType::f32>},
    {"perceptron 16", of<perceptron_net, 16, DType::f32>},
    {"perceptron 64 f16", of<perceptron_net, 64, DType::f16>},
    {"pooling", pooling_net},
    {"places", places_net},
};

}  // namespace

std::span<const CalibrationNet> calibration_nets() { return nets; }

}  // namespace tenon
