// The parent's side of `tenon-torch serve`.
#include "converter/torch_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "converter/archive/file_format.h"
#include "converter/exported/archive.h"
#include "converter/exported/load.h"
#include "converter/tenon_torch.h"
#include "converter/torch_protocol.h"
#include "converter/torchscript/check.h"

namespace tenon {
namespace {

using nlohmann::json;
namespace protocol = torch_protocol;

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

std::span<const std::byte> bytes_of(const auto& value) { return std::as_bytes(std::span(&value, 1)); }

struct Message {
  json header;
  std::vector<NamedRawTensor> tensors;
};

std::size_t byte_count(DType dtype, std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > kMostElements) {
      throw error("tenon-torch answered with a tensor of absurd size");
    }
  }
  return static_cast<std::size_t>(count) * size_of(dtype);
}

}  // namespace

class TorchRunner::Impl {
 public:
  Impl(const std::filesystem::path& path, const TorchRunnerOptions& options)
      : path_(path.string()),
        timeout_(options.timeout),
        fixed_(options.fixed),
        child_(start_tenon_torch(arguments(path, options))) {}

  void ask(json header, std::span<const NamedRawTensor> given) {
    deadline_ = ChildProcess::Clock::now() + timeout_;
    std::vector<NamedRawTensor> inputs(given.begin(), given.end());
    inputs.insert(inputs.end(), fixed_.begin(), fixed_.end());
    json list = json::array();
    for (const NamedRawTensor& input : inputs) {
      const RawTensor& t = input.tensor;
      if (t.bytes.size() != byte_count(t.dtype, t.shape)) {
        throw error("the input '{}' does not hold as many bytes as its shape says", input.name);
      }
      list.push_back(json::array({input.name, name(t.dtype), t.shape}));
    }
    header["tensors"] = std::move(list);
    const std::string text = header.dump();
    send(bytes_of(protocol::Prefix{protocol::kMagic, static_cast<std::uint32_t>(text.size())}));
    send(std::as_bytes(std::span(text)));
    for (const NamedRawTensor& input : inputs) send(input.tensor.bytes);
  }

  Message answer() {
    protocol::Prefix prefix;
    receive(std::as_writable_bytes(std::span(&prefix, 1)));
    if (prefix.magic != protocol::kMagic || prefix.header_size > protocol::kLargestHeader) {
      throw error("tenon-torch answered with something else than a message").at(path_);
    }
    std::string text(prefix.header_size, '\0');
    receive(std::as_writable_bytes(std::span(text)));
    try {
      Message message{json::parse(text), {}};
      if (message.header.contains("error")) throw error_of(message.header).at(path_);
      for (const json& record : message.header.at("tensors"))
        message.tensors.push_back(receive_tensor(record));
      return message;
    } catch (const json::exception& e) {
      throw error("tenon-torch answered with a message that cannot be read: {}", e.what()).at(path_);
    }
  }

  void reply(char byte) {
    deadline_ = ChildProcess::Clock::now() + timeout_;
    send(bytes_of(byte));
  }

 private:
  static std::vector<std::string> arguments(const std::filesystem::path& path,
                                            const TorchRunnerOptions& options) {
    std::vector<std::string> list = {"serve",     std::filesystem::absolute(path).string(),
                                     "--threads", std::to_string(options.threads),
                                     "--memory",  std::to_string(memory_limit(path, options))};
    if (!options.weights.empty()) {
      list.emplace_back("--weights");
      list.push_back(std::filesystem::absolute(options.weights).string());
    }
    if (options.keep_dropout) list.emplace_back("--keep-dropout");
    return list;
  }

  // The file is mapped, and LibTorch copies its weights.
  static std::uint64_t memory_limit(const std::filesystem::path& path, const TorchRunnerOptions& options) {
    std::error_code ignored;
    const auto file = std::filesystem::file_size(path, ignored);
    return (options.memory_limit ? options.memory_limit : default_memory_limit()) +
           (ignored ? 0 : 2 * std::uint64_t{file});
  }

  NamedRawTensor receive_tensor(const json& record) {
    NamedRawTensor result{printable(record.at(0).get<std::string>()), {}};  // as the graph has it
    const auto dtype = dtype_from_name(record.at(1).get<std::string>());
    if (!dtype) throw error("tenon-torch answered with an unknown dtype");
    result.tensor.dtype = *dtype;
    result.tensor.shape = record.at(2).get<std::vector<std::int64_t>>();
    receive(result.tensor.bytes, byte_count(*dtype, result.tensor.shape));
    return result;
  }

  void send(std::span<const std::byte> bytes) { need(child_->write(bytes, deadline_)); }
  void receive(std::span<std::byte> bytes) { need(child_->read(bytes, deadline_)); }

  /// Memory is taken as the bytes arrive, whatever size is claimed.
  void receive(std::vector<std::byte>& bytes, std::size_t size) {
    constexpr std::size_t first = std::size_t{64} << 20;
    while (bytes.size() < size) {
      const std::size_t have = bytes.size();
      bytes.resize(std::min(size, std::max(2 * have, first)));
      receive(std::span(bytes).subspan(have));
    }
  }

  void need(ChildProcess::Io result) {
    if (result == ChildProcess::Io::done) return;
    if (result == ChildProcess::Io::timed_out) {
      child_->kill();
      throw error("LibTorch was still running the model after {} s", timeout_.count()).at(path_);
    }
    const auto status = child_->wait(deadline_);
    if (status.crashed) {
      throw error("LibTorch crashed while running the model ({})", ::strsignal(status.code)).at(path_);
    }
    throw error("tenon-torch ended with exit code {}: {}", status.code, child_->complaints()).at(path_);
  }

  std::string path_;
  std::chrono::seconds timeout_;
  std::vector<NamedRawTensor> fixed_;
  ChildProcess::Clock::time_point deadline_;
  std::unique_ptr<ChildProcess> child_;
};

TorchRunner::TorchRunner(const std::filesystem::path& path, const TorchRunnerOptions& options) {
  if (detect_format(MappedFile::open(path)->bytes()).kind != FileKind::pt2)
    torchscript::open_checked(path);
  else if (options.weights.empty())
    exported::Archive check(path);
  else
    exported::load(path, options.weights);  // its errors name the file that is wrong
  impl_ = std::make_unique<Impl>(path, options);
}
TorchRunner::~TorchRunner() = default;
TorchRunner::TorchRunner(TorchRunner&&) noexcept = default;
TorchRunner& TorchRunner::operator=(TorchRunner&&) noexcept = default;

std::vector<NamedRawTensor> TorchRunner::run(std::span<const NamedRawTensor> inputs, const TorchCall& call) {
  impl_->ask({{"do", "run"}, {"method", call.method}, {"stateful", call.stateful}}, inputs);
  return impl_->answer().tensors;
}

std::vector<NamedRawTensor> TorchRunner::intermediate_values(
    std::span<const NamedRawTensor> inputs, const std::function<bool(const IntermediateValue&)>& on_value,
    const TorchCall& call) {
  impl_->ask({{"do", "taps"}, {"method", call.method}, {"stateful", call.stateful}}, inputs);
  while (true) {
    Message message = impl_->answer();
    if (!message.header.contains("tap")) return std::move(message.tensors);
    const json& record = message.header["tap"];
    IntermediateValue value;
    value.ordinal = record.at("ordinal").get<std::size_t>();
    value.module = record.at("module").get<std::string>();
    value.op = record.at("op").get<std::string>();
    value.value = record.at("value").get<std::string>();
    value.file = record.at("file").get<std::string>();
    value.function = record.at("function").get<std::string>();
    value.line = record.at("line").get<int>();
    value.tensor = std::move(message.tensors.at(0).tensor);
    impl_->reply(on_value(value) ? protocol::kGoOn : protocol::kStop);
  }
}

std::vector<double> TorchRunner::time(std::span<const NamedRawTensor> inputs, int warmup, int iterations,
                                      TorchMode mode, const TorchCall& call) {
  impl_->ask({{"do", "time"},
              {"method", call.method},
              {"stateful", call.stateful},
              {"warmup", warmup},
              {"iterations", iterations},
              {"optimized", mode == TorchMode::optimized}},
             inputs);
  return impl_->answer().header.at("milliseconds").get<std::vector<double>>();
}

}  // namespace tenon
