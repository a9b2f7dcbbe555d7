// The child's end of the protocol in converter/torch_protocol.h.
#pragma once
#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tenon::libtorch {

struct NamedAtTensor {
  std::string name;
  at::Tensor tensor;
};

struct Request {
  nlohmann::json header;
  std::vector<NamedAtTensor> tensors;
};

class Channel {
 public:
  Channel(int in, int out) : in_(in), out_(out) {}

  /// The next request, or nothing when tenon has hung up.
  std::optional<Request> receive() const;
  /// Sends the header with the tensors, which may have any strides. Throws when a dtype has no name in Tenon.
  void send(nlohmann::json header, const std::vector<NamedAtTensor>& tensors) const;
  /// tenon's one-byte reply to a tap; false to stop.
  bool is_told_to_go_on() const;

 private:
  int in_, out_;
};

}  // namespace tenon::libtorch
