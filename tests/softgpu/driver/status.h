// Error numbers: CUDA's; HIP uses the same ones.
#pragma once

namespace softgpu {

enum Status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary = 209,
  operating_system = 304,
  invalid_handle = 400,
  illegal_state = 401,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  out_of_resources = 701,
  launch_failed = 719,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_merge = 902,
  capture_unmatched = 903,
  capture_unjoined = 904,
  capture_isolation = 905,
  captured_event = 907,
  capture_wrong_thread = 908,
};

struct StatusName {
  Status status;
  const char *cuda, *hip;
};

/// Null where the number is none of ours.
const StatusName* status_name(int status);

}  // namespace softgpu
