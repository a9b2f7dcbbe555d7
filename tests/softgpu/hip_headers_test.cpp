// What we declare of ROCm's libraries, compared with those of AMD's headers that are there.
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include "vendor_headers.h"

namespace vendor_headers {

#define GPU_FUNCTION(name, cuda, hip, arguments) static_assert(agree<int(*) arguments, decltype(&hip)>, #hip);
#define GPU_COMPILER_FUNCTION GPU_FUNCTION
#include "runtime/gpu/functions.def"

namespace driver {
using namespace tenon::gpu::driver_numbers;
static_assert(out_of_memory == hipErrorOutOfMemory && in_this_thread == hipStreamCaptureModeThreadLocal);
static_assert(apart_from_the_default_stream == hipStreamNonBlocking &&
              disable_timing == hipEventDisableTiming);
static_assert(by_addresses == hipMemcpyDefault);
static_assert(attributes[0][1] == hipDeviceAttributeMultiprocessorCount &&
              attributes[1][1] == hipDeviceAttributeWarpSize &&
              attributes[2][1] == hipDeviceAttributeClockRate &&
              attributes[3][1] == hipDeviceAttributeComputeCapabilityMajor &&
              attributes[4][1] == hipDeviceAttributeComputeCapabilityMinor);
}  // namespace driver

}  // namespace vendor_headers

#if __has_include(<hipblaslt/hipblaslt.h>)
#include <hipblaslt/hipblaslt.h>
namespace vendor_headers::blas {
#define GPU_BLAS_FUNCTION(name, cuda, hip, arguments) \
  static_assert(agree<int(*) arguments, decltype(&hip)>, #hip);
#include "runtime/gpu/blas_functions.def"
using tenon::gpu::blas_of_hip;
using namespace tenon::gpu::blas_numbers;
static_assert(blas_of_hip.float32_sums == HIPBLAS_COMPUTE_32F &&
              blas_of_hip.tf32_sums == HIPBLAS_COMPUTE_32F_FAST_TF32);
static_assert(blas_of_hip.as_it_lies == HIPBLAS_OP_N && blas_of_hip.transposed == HIPBLAS_OP_T);
static_assert(blas_of_hip.left_operation == HIPBLASLT_MATMUL_DESC_TRANSA &&
              blas_of_hip.right_operation == HIPBLASLT_MATMUL_DESC_TRANSB &&
              blas_of_hip.epilogue == HIPBLASLT_MATMUL_DESC_EPILOGUE &&
              blas_of_hip.bias == HIPBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(most_workspace == HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(plain == HIPBLASLT_EPILOGUE_DEFAULT && with_relu == HIPBLASLT_EPILOGUE_RELU &&
              with_bias == HIPBLASLT_EPILOGUE_BIAS &&
              (with_relu | with_bias) == HIPBLASLT_EPILOGUE_RELU_BIAS);
static_assert(float32 == HIP_R_32F && float16 == HIP_R_16F && bfloat16 == HIP_R_16BF);
static_assert(offsetof(hipblasLtMatmulHeuristicResult_t, algo) == 0 &&
              sizeof(hipblasLtMatmulHeuristicResult_t) <= algorithm_bytes);
}  // namespace vendor_headers::blas
#endif

#if __has_include(<miopen/miopen.h>)
#include <miopen/miopen.h>
namespace vendor_headers::dnn {
#define GPU_DNN_FUNCTION(name, cuda, hip, arguments) \
  static_assert(agree<int(*) arguments, decltype(&hip)>, #hip);
#include "runtime/gpu/dnn_functions.def"
using tenon::gpu::dnn_of_hip;
using namespace tenon::gpu::miopen_numbers;
static_assert(dnn_of_hip.float32 == miopenFloat && dnn_of_hip.float16 == miopenHalf &&
              dnn_of_hip.bfloat16 == miopenBFloat16);
static_assert(dnn_of_hip.correlation == miopenConvolution && dnn_of_hip.relu == miopenActivationRELU);
static_assert(gemm == miopenConvolutionAlgoGEMM && direct == miopenConvolutionAlgoDirect &&
              implicit_gemm == miopenConvolutionAlgoImplicitGEMM);
static_assert(deterministic == MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC);
using Ours = tenon::gpu::MiopenSolution;
using Theirs = miopenConvSolution_t;
static_assert(sizeof(Ours) == sizeof(Theirs) &&
              offsetof(Ours, workspace) == offsetof(Theirs, workspace_size) &&
              offsetof(Ours, id) == offsetof(Theirs, solution_id) &&
              offsetof(Ours, algorithm) == offsetof(Theirs, algorithm));
}  // namespace vendor_headers::dnn
#endif
