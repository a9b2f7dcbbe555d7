// The names of the error numbers.
#include "driver/status.h"

namespace softgpu {

const StatusName* status_name(int status) {
  static constexpr StatusName names[] = {
      {success, "CUDA_SUCCESS", "hipSuccess"},
      {invalid_value, "CUDA_ERROR_INVALID_VALUE", "hipErrorInvalidValue"},
      {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory"},
      {not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "hipErrorNotInitialized"},
      {no_device, "CUDA_ERROR_NO_DEVICE", "hipErrorNoDevice"},
      {invalid_device, "CUDA_ERROR_INVALID_DEVICE", "hipErrorInvalidDevice"},
      {invalid_image, "CUDA_ERROR_INVALID_IMAGE", "hipErrorInvalidImage"},
      {invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "hipErrorInvalidContext"},
      {no_binary, "CUDA_ERROR_NO_BINARY_FOR_GPU", "hipErrorNoBinaryForGpu"},
      {operating_system, "CUDA_ERROR_OPERATING_SYSTEM", "hipErrorOperatingSystem"},
      {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "hipErrorInvalidHandle"},
      {illegal_state, "CUDA_ERROR_ILLEGAL_STATE", "hipErrorIllegalState"},
      {not_found, "CUDA_ERROR_NOT_FOUND", "hipErrorNotFound"},
      {not_ready, "CUDA_ERROR_NOT_READY", "hipErrorNotReady"},
      {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "hipErrorIllegalAddress"},
      {out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "hipErrorLaunchOutOfResources"},
      {launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "hipErrorLaunchFailure"},
      {not_supported, "CUDA_ERROR_NOT_SUPPORTED", "hipErrorNotSupported"},
      {capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "hipErrorStreamCaptureUnsupported"},
      {capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "hipErrorStreamCaptureInvalidated"},
      {capture_merge, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "hipErrorStreamCaptureMerge"},
      {capture_unmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "hipErrorStreamCaptureUnmatched"},
      {capture_unjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "hipErrorStreamCaptureUnjoined"},
      {capture_isolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "hipErrorStreamCaptureIsolation"},
      {captured_event, "CUDA_ERROR_CAPTURED_EVENT", "hipErrorCapturedEvent"},
      {capture_wrong_thread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "hipErrorStreamCaptureWrongThread"},
  };
  for (const StatusName& name : names)
    if (name.status == status) return &name;
  return nullptr;
}

}  // namespace softgpu
