// What we declare of CUDA's libraries, compared with those of NVIDIA's headers that are there.
#include <cuda.h>

#include "runtime/gpu/tensor_map.h"
#include "vendor_headers.h"

namespace vendor_headers {

#define GPU_FUNCTION(name, cuda, hip, arguments) \
  static_assert(agree<int(*) arguments, decltype(&cuda)>, #cuda);
#define GPU_COMPILER_FUNCTION(name, cuda, hip, arguments)
#include "runtime/gpu/functions.def"
#undef GPU_FUNCTION
#undef GPU_COMPILER_FUNCTION

namespace driver {
using namespace tenon::gpu::driver_numbers;
static_assert(out_of_memory == CUDA_ERROR_OUT_OF_MEMORY &&
              in_this_thread == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(apart_from_the_default_stream == CU_STREAM_NON_BLOCKING &&
              disable_timing == CU_EVENT_DISABLE_TIMING);
static_assert(max_dynamic_shared_bytes == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(attributes[0][0] == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              attributes[1][0] == CU_DEVICE_ATTRIBUTE_WARP_SIZE &&
              attributes[2][0] == CU_DEVICE_ATTRIBUTE_CLOCK_RATE &&
              attributes[3][0] == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              attributes[4][0] == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}  // namespace driver

namespace tensor_map {
using namespace tenon::gpu::tensor_map_numbers;
static_assert(float16 == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && bfloat16 == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 &&
              float32 == CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
static_assert(not_interleaved == CU_TENSOR_MAP_INTERLEAVE_NONE &&
              swizzled_by_128_bytes == CU_TENSOR_MAP_SWIZZLE_128B &&
              promoted_to_128_bytes == CU_TENSOR_MAP_L2_PROMOTION_L2_128B &&
              zeros == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
static_assert(sizeof(tenon::gpu::EncodedMap) == sizeof(CUtensorMap) &&
              alignof(tenon::gpu::EncodedMap) >= alignof(CUtensorMap));
}  // namespace tensor_map

}  // namespace vendor_headers

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
namespace vendor_headers {
#define GPU_FUNCTION(name, cuda, hip, arguments)
#define GPU_COMPILER_FUNCTION(name, cuda, hip, arguments) \
  static_assert(agree<int(*) arguments, decltype(&cuda)>, #cuda);
#include "runtime/gpu/functions.def"
}  // namespace vendor_headers
#endif

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
namespace vendor_headers::blas {
#define GPU_BLAS_FUNCTION(name, cuda, hip, arguments) \
  static_assert(agree<int(*) arguments, decltype(&cuda)>, #cuda);
#include "runtime/gpu/blas_functions.def"
using tenon::gpu::blas_of_cuda;
using namespace tenon::gpu::blas_numbers;
static_assert(blas_of_cuda.float32_sums == CUBLAS_COMPUTE_32F &&
              blas_of_cuda.tf32_sums == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(blas_of_cuda.as_it_lies == CUBLAS_OP_N && blas_of_cuda.transposed == CUBLAS_OP_T);
static_assert(blas_of_cuda.left_operation == CUBLASLT_MATMUL_DESC_TRANSA &&
              blas_of_cuda.right_operation == CUBLASLT_MATMUL_DESC_TRANSB &&
              blas_of_cuda.epilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
              blas_of_cuda.bias == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(blas_of_cuda.least_alignment[0] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              blas_of_cuda.least_alignment[1] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
              blas_of_cuda.least_alignment[2] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
              blas_of_cuda.least_alignment[3] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(most_workspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(plain == CUBLASLT_EPILOGUE_DEFAULT && with_relu == CUBLASLT_EPILOGUE_RELU &&
              with_bias == CUBLASLT_EPILOGUE_BIAS && (with_relu | with_bias) == CUBLASLT_EPILOGUE_RELU_BIAS);
static_assert(float32 == CUDA_R_32F && float16 == CUDA_R_16F && bfloat16 == CUDA_R_16BF);
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, algo) == 0 &&
              sizeof(cublasLtMatmulHeuristicResult_t) <= algorithm_bytes);
}  // namespace vendor_headers::blas
#endif

#if __has_include(<cudnn.h>)
#include <cudnn.h>
namespace vendor_headers::dnn {
#define GPU_DNN_FUNCTION(name, cuda, hip, arguments) \
  static_assert(agree<int(*) arguments, decltype(&cuda)>, #cuda);
#include "runtime/gpu/dnn_functions.def"
using tenon::gpu::dnn_of_cuda;
using namespace tenon::gpu::cudnn_numbers;
static_assert(dnn_of_cuda.float32 == CUDNN_DATA_FLOAT && dnn_of_cuda.float16 == CUDNN_DATA_HALF &&
              dnn_of_cuda.bfloat16 == CUDNN_DATA_BFLOAT16);
static_assert(dnn_of_cuda.correlation == CUDNN_CROSS_CORRELATION &&
              dnn_of_cuda.relu == CUDNN_ACTIVATION_RELU);
static_assert(implicit_gemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM &&
              implicit_precomputed_gemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM &&
              gemm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM && direct == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT);
static_assert(default_math == CUDNN_DEFAULT_MATH && tensor_op_math == CUDNN_TENSOR_OP_MATH &&
              fma_math == CUDNN_FMA_MATH);
static_assert(channels_last == CUDNN_TENSOR_NHWC && identity == CUDNN_ACTIVATION_IDENTITY &&
              propagate_nan == CUDNN_PROPAGATE_NAN && deterministic == CUDNN_DETERMINISTIC);
using Ours = tenon::gpu::CudnnAlgorithm;
using Theirs = cudnnConvolutionFwdAlgoPerf_t;
static_assert(sizeof(Ours) == sizeof(Theirs) && offsetof(Ours, algorithm) == offsetof(Theirs, algo) &&
              offsetof(Ours, status) == offsetof(Theirs, status) &&
              offsetof(Ours, workspace) == offsetof(Theirs, memory) &&
              offsetof(Ours, determinism) == offsetof(Theirs, determinism) &&
              offsetof(Ours, math) == offsetof(Theirs, mathType));
}  // namespace vendor_headers::dnn
#endif
