// The child's end of the protocol in converter/torch_protocol.h.
#include "converter/libtorch/channel.h"

#include <ATen/ops/empty.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "converter/libtorch/dtype.h"
#include "converter/torch_protocol.h"

namespace tenon::libtorch {
namespace {

namespace protocol = torch_protocol;
using nlohmann::json;

/// False at the end of the stream. A parent that is gone in the middle of a message ends this process.
bool read_all(int fd, void* to, std::size_t size, bool may_end = false) {
  auto* at = static_cast<char*>(to);
  const auto* const begin = at;
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 && may_end && at == begin) return false;
    if (got <= 0) ::_exit(EXIT_FAILURE);
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void write_all(int fd, const void* from, std::size_t size) {
  const auto* at = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t written = ::write(fd, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(EXIT_FAILURE);
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

std::optional<Request> Channel::receive() const {
  protocol::Prefix prefix;
  if (!read_all(in_, &prefix, sizeof prefix, /*may_end=*/true)) return std::nullopt;
  TORCH_CHECK(prefix.magic == protocol::kMagic && prefix.header_size <= protocol::kLargestHeader,
              "not a request");
  std::string text(prefix.header_size, '\0');
  read_all(in_, text.data(), text.size());
  Request request{json::parse(text), {}};
  for (const json& record : request.header.at("tensors")) {
    const auto type = scalar_type(record.at(1).get<std::string>());
    TORCH_CHECK(type, "unknown dtype ", record.at(1).get<std::string>());
    const auto shape = record.at(2).get<std::vector<std::int64_t>>();
    at::Tensor tensor = at::empty(shape, *type);
    read_all(in_, tensor.data_ptr(), tensor.nbytes());
    request.tensors.push_back({record.at(0).get<std::string>(), std::move(tensor)});
  }
  return request;
}

void Channel::send(json header, const std::vector<NamedAtTensor>& tensors) const {
  json list = json::array();
  std::vector<at::Tensor> dense;
  for (const NamedAtTensor& named : tensors) {
    const auto dtype = dtype_name(named.tensor.scalar_type());
    TORCH_CHECK(dtype, "the result '", named.name, "' has dtype ", c10::toString(named.tensor.scalar_type()),
                ", which Tenon has no form for");
    dense.push_back(named.tensor.detach().cpu().resolve_conj().resolve_neg().contiguous());
    list.push_back(json::array({named.name, *dtype, named.tensor.sizes()}));
  }
  header["tensors"] = std::move(list);
  const std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  const protocol::Prefix prefix{protocol::kMagic, static_cast<std::uint32_t>(text.size())};
  write_all(out_, &prefix, sizeof prefix);
  write_all(out_, text.data(), text.size());
  for (const at::Tensor& tensor : dense) write_all(out_, tensor.const_data_ptr(), tensor.nbytes());
}

bool Channel::is_told_to_go_on() const {
  char byte = protocol::kStop;
  read_all(in_, &byte, 1);
  return byte == protocol::kGoOn;
}

}  // namespace tenon::libtorch
