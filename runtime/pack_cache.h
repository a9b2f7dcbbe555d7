// Weights in the form kernels read them: packed once, shared by every plan that uses the same form.
#pragma once
#include <map>
#include <mutex>

#include "ir/tensor.h"
#include "kernels/function_ref.h"

namespace tenon {

/// Identified by what the packed bytes are made of: the view of the weight (its first byte, dtype, sizes and
/// strides) and a text that names the form with all its parameters.
class PackCache {
 public:
  /// The packed floats, made by fill(weight, target) when they are not there yet; fill depends on nothing but
  /// the weight and what the form says. Safe from several threads.
  Tensor get(const Tensor& weight, const std::string& form, std::int64_t floats,
             FunctionRef<void(const Tensor& weight, float* target)> fill);
  std::size_t bytes() const;
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
  struct Entry {
    Tensor weight;  // kept, so that no other weight takes its address
    Tensor packed;
  };
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  double packing_ms_ = 0;
};

}  // namespace tenon
