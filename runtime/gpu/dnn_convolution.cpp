#include "runtime/gpu/dnn_convolution.h"

#include "base/error.h"

namespace tenon::gpu {

bool library_convolves(Vendor vendor, DType dtype, bool bias, bool residual, bool relu) {
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) return false;
  if (vendor == Vendor::cuda) return bias || (!residual && !relu);  // its function takes all of them
  return !residual && (!bias || dtype == DType::f32);               // MIOpen adds the bias to what it rounded
}

std::unique_ptr<FoundConvolution> find_convolution(Gpu& gpu, const DnnConvolution& c) {
  try {
    (void)dnn_handle(gpu);
  } catch (const Error&) { return nullptr; }  // doctor says it
  return gpu.driver().vendor == Vendor::cuda ? find_by_cudnn(gpu, c) : find_by_miopen(gpu, c);
}

LibraryObject make_object(const Dnn& d, int (*create)(void**), LibraryObject::Destroy destroy) {
  void* made = nullptr;
  d.check(create(&made), "making a description");
  return {made, destroy};
}

LibraryObject describe_tensor(const Dnn& d, DType dtype, const std::vector<int>& sizes) {
  const std::size_t rank = sizes.size();
  std::vector<int> strides(rank, 1);
  int stride = sizes[1];
  for (std::size_t axis = rank; axis-- > 2; stride *= sizes[axis]) strides[axis] = stride;
  strides[0] = stride;
  LibraryObject tensor = make_object(d, d.create_tensor, d.destroy_tensor);
  d.check(
      d.set_tensor(tensor.get(), d.number_of(dtype), static_cast<int>(rank), sizes.data(), strides.data()),
      "describing a tensor");
  return tensor;
}

}  // namespace tenon::gpu
