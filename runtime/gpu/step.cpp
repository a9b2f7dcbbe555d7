#include "runtime/gpu/step.h"

#include <algorithm>
#include <array>

#include "runtime/gpu/queue.h"
#include "runtime/gpu/tensor_map.h"

namespace tenon::gpu {
namespace {

constexpr std::size_t max_parameters = 128, max_maps = 2;

}  // namespace

LaunchStep::LaunchStep(Gpu& gpu, Kernel kernel) : gpu_(gpu), kernel_(std::move(kernel)) {
  for (const PlannedTensor& t : kernel_.buffers) buffers_.push_back(t.address());
  kernel_.size.check(gpu.driver().vendor, kernel_.name);
  TENON_CHECK(kernel_.maps.size() <= max_maps);
  TENON_CHECK(buffers_.size() + kernel_.arguments.size() + max_maps + 2 <= max_parameters);
  faults = kernel_.may_fault ? 1 : 0;
}

void LaunchStep::compile() {
  function_ = gpu_.function(kernel_.source, kernel_.name, kernel_.size.shared_bytes);
  fills_device = gpu_.fills(function_, kernel_.size);
}

void LaunchStep::run(const Frame& frame) const {
  const LaunchSize& size = kernel_.size;
  if (std::count(std::begin(size.grid), std::end(size.grid), 0) > 0) return;
  std::array<std::byte*, max_parameters> addresses;
  std::array<void*, max_parameters> parameters;
  std::size_t count = 0;
  for (const Address& buffer : buffers_) addresses[count++] = frame.at(buffer);
  if (faults > 0) addresses[count++] = reinterpret_cast<std::byte*>(faults_in(frame.faults).data());
  for (std::size_t i = 0; i < count; ++i) parameters[i] = &addresses[i];
  for (const auto& argument : kernel_.arguments)
    if (!argument.empty()) parameters[count++] = const_cast<std::byte*>(argument.data());
  std::array<EncodedMap, max_maps> maps;
  for (std::size_t i = 0; i < kernel_.maps.size(); ++i) {
    maps[i] = encode(gpu_.driver(), kernel_.maps[i], addresses[kernel_.maps[i].buffer]);
    parameters[count++] = &maps[i];
  }
  parameters[count] = nullptr;  // drivers that check their callers count up to it
  gpu_.launch(function_, size, {parameters.data(), count}, gpu_queue(frame.queue).stream());
}

std::optional<Error> LaunchStep::failure(std::span<const Fault> found) const {
  return kernel_.complaint(found[0]);
}

}  // namespace tenon::gpu
