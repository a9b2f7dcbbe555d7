#include "converter/onnx/round_trip.h"

#include <array>
#include <charconv>

namespace tenon::converter::onnx {

double round_trip_double(float value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double out = value;
  std::from_chars(text.data(), end, out);
  return out;
}

}  // namespace tenon::converter::onnx
