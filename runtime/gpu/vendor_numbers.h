// Numbers of the vendors' enumerations, as their headers have them (tests/softgpu/vendor_headers.h compares).
#pragma once
#include <cstddef>
#include <cstdint>

namespace tenon::gpu {

/// Of both drivers.
namespace driver_numbers {
inline constexpr int out_of_memory = 2;
inline constexpr int in_this_thread = 1;                      // mode of a capture
inline constexpr unsigned apart_from_the_default_stream = 1;  // flag of a stream
inline constexpr unsigned disable_timing = 2;                 // flag of an event
inline constexpr int max_dynamic_shared_bytes = 8;            // attribute of CUDA's functions
inline constexpr int by_addresses = 4;                        // kind of HIP's copies
/// Attributes of a device, of CUDA and of HIP, in the order of Attribute.
inline constexpr int attributes[][2] = {{16, 63}, {10, 87}, {13, 5}, {75, 23}, {76, 61}};
}  // namespace driver_numbers

/// Of CUDA's driver.
namespace tensor_map_numbers {
inline constexpr int float16 = 6, float32 = 7, bfloat16 = 9, not_interleaved = 0, swizzled_by_128_bytes = 3,
                     promoted_to_128_bytes = 2, zeros = 0;
}

/// What cuBLASLt and hipBLASLt number differently.
struct BlasNumbers {
  int float32_sums, tf32_sums;          // what is computed in
  int as_it_lies, transposed;           // operations
  int left_operation, right_operation;  // attributes of a description
  int epilogue, bias;                   // the same
  int least_alignment[4];               // attributes of a preference: of A, B, C and D; 0: none
};
inline constexpr BlasNumbers blas_of_cuda{.float32_sums = 68,
                                          .tf32_sums = 77,
                                          .as_it_lies = 0,
                                          .transposed = 1,
                                          .left_operation = 3,
                                          .right_operation = 4,
                                          .epilogue = 7,
                                          .bias = 8,
                                          .least_alignment = {5, 6, 7, 8}};
inline constexpr BlasNumbers blas_of_hip{.float32_sums = 2,
                                         .tf32_sums = 6,
                                         .as_it_lies = 111,
                                         .transposed = 112,
                                         .left_operation = 0,
                                         .right_operation = 1,
                                         .epilogue = 2,
                                         .bias = 3,
                                         .least_alignment = {}};

/// Of both libraries of products.
namespace blas_numbers {
inline constexpr int most_workspace = 1;                       // attribute of a preference
inline constexpr int plain = 1, with_relu = 2, with_bias = 4;  // epilogues
inline constexpr int float32 = 0, float16 = 2, bfloat16 = 14;  // types of numbers
/// Bytes of what they give for an algorithm, at most; it begins with the algorithm.
inline constexpr std::size_t algorithm_bytes = 256;
}  // namespace blas_numbers

/// What cuDNN and MIOpen number differently.
struct DnnNumbers {
  int float32, float16, bfloat16;  // types of numbers
  int correlation;                 // mode of a convolution
  int relu;                        // mode of an activation
};
inline constexpr DnnNumbers dnn_of_cuda{
    .float32 = 0, .float16 = 2, .bfloat16 = 9, .correlation = 1, .relu = 1};
inline constexpr DnnNumbers dnn_of_hip{
    .float32 = 1, .float16 = 0, .bfloat16 = 5, .correlation = 0, .relu = 3};

/// cuDNN's algorithms, kinds of arithmetic, and the rest.
namespace cudnn_numbers {
inline constexpr int implicit_gemm = 0, implicit_precomputed_gemm = 1, gemm = 2, direct = 3;
inline constexpr int default_math = 0, tensor_op_math = 1, fma_math = 3;
inline constexpr int channels_last = 1, identity = 5, propagate_nan = 1, deterministic = 1;
}  // namespace cudnn_numbers

/// A cudnnConvolutionFwdAlgoPerf_t.
struct CudnnAlgorithm {
  int algorithm, status;
  float milliseconds;
  std::size_t workspace;
  int determinism, math, reserved[3];
};

/// MIOpen's algorithms, and an attribute of a convolution.
namespace miopen_numbers {
inline constexpr int gemm = 0, direct = 1, implicit_gemm = 5;
inline constexpr int deterministic = 1;
}  // namespace miopen_numbers

/// A miopenConvSolution_t.
struct MiopenSolution {
  float milliseconds;
  std::size_t workspace;
  std::uint64_t id;
  int algorithm;
};

}  // namespace tenon::gpu
