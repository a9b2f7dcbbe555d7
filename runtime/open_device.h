// A device in use: what its plans and their runs share.
#pragma once
#include "runtime/device.h"
#include "runtime/memory_pool.h"
#include "runtime/weight_store.h"

namespace tenon {

struct OpenDevice {
  OpenDevice(const Device& opened, int threads, Chooser chooser = least_estimate)
      : device(opened),
        choose(std::move(chooser)),
        queue(opened.open_queue(threads)),
        store(std::make_shared<WeightStore>(opened, *queue)),
        weights(*store),
        pool(opened, Space::device),
        pinned_pool(opened, Space::pinned) {}
  /// Another one of the device, with the weights of this one, which must outlive it.
  OpenDevice(const OpenDevice& other, Chooser chooser)
      : device(other.device),
        choose(std::move(chooser)),
        queue(device.open_queue(other.queue->threads())),
        store(other.store),
        weights(*store),
        pool(device, Space::device),
        pinned_pool(device, Space::pinned) {}

  /// Dense memory of the device.
  Tensor empty(DType dtype, const Index& shape);
  /// Dense memory of the host for a result: pinned where the device copies there, if there is any left.
  Tensor empty_result(DType dtype, const Index& shape);
  /// A dense copy in the device's memory, and one in the host's; the tensor itself where it is there.
  Tensor upload(const Tensor& tensor);
  Tensor download(const Tensor& tensor);

  const Device& device;
  Chooser choose;
  std::unique_ptr<Queue> queue;
  std::shared_ptr<WeightStore> store;
  WeightStore& weights;
  MemoryPool pool;         // of what empty() and upload() give
  MemoryPool pinned_pool;  // of results, and of what copies go through
};

}  // namespace tenon
