// The weights of a device: their bytes where its kernels read them, and the forms that they read. Made once,
// for every plan that uses them.
#pragma once
#include <map>
#include <mutex>

#include "ir/tensor.h"
#include "kernels/function_ref.h"
#include "runtime/memory.h"

namespace tenon {

struct Device;
class Queue;

/// Safe from several threads.
class WeightStore {
 public:
  /// The device and the queue must outlive it.
  WeightStore(const Device& device, Queue& queue) : device_(device), queue_(queue) {}

  /// `bytes` bytes that fill(weight, target) makes on the host when they are not there yet. Identified by
  /// what they are made of: the view of the weight (its first byte, dtype, sizes and strides) and a text that
  /// names the form with all its parameters; fill depends on nothing else.
  Tensor packed(const Tensor& weight, const std::string& form, std::size_t bytes,
                FunctionRef<void(const Tensor& weight, std::byte* target)> fill);
  /// A copy of these bytes in the memory of a device that does not share the host's. The storage must live as
  /// long as the copy.
  /// The copy is shared by all who hold it.
  std::shared_ptr<const Memory> resident(const Storage& storage);

  std::size_t packed_bytes() const;
  /// Time spent making packed forms.
  double packing_ms() const;

 private:
  struct Key {
    const std::byte* first;
    DType dtype;
    Index sizes, strides;
    std::string form;
    auto operator<=>(const Key&) const = default;
  };
  struct Packed {
    Tensor weight;  // kept, so that no other weight takes its address
    Tensor bytes;
  };

  const Device& device_;
  Queue& queue_;
  mutable std::mutex mutex_;
  std::map<Key, Packed> packed_;
  std::map<const Storage*, std::weak_ptr<const Memory>> resident_;
  double packing_ms_ = 0;
};

}  // namespace tenon
