// The process of a device: how it is started, asked, and seen to die.
#pragma once
#include "driver/state.h"

namespace softgpu {

/// Is the program of that process beside this library? Says it if it is not.
bool has_device_program();

/// Starts the device's process; a Status.
int start_process(Device& device);

/// Sends one request and waits for its answer: `fill` writes it, `take` reads the answer, also of one that
/// failed. A dead device gives its error. Without the mutex.
int request(Device& device, Operation operation, const std::function<void(Channel&)>& fill,
            const std::function<void(Channel&)>& take = {});

/// Requests of the calling thread go through this stream's channel.
void use_channel_of(const Stream* stream);

}  // namespace softgpu
