#include "runtime/gpu/loop_fault.h"

#include "base/zero_division_error.h"
#include "runtime/index_fault.h"

namespace tenon::gpu {

Error loop_error(const Fault& fault) {
  return fault.detail == 0 ? zero_division_error() : index_error(fault);
}

}  // namespace tenon::gpu
