#include "converter/libtorch/operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/library.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "converter/archive/file_format.h"
#include "converter/libtorch/dtype.h"
#include "ir/operator_library.h"
#include "ir/ops/custom.h"

namespace tenon::libtorch {
namespace {

tenon::Tensor view_of(const at::Tensor& t) {
  const auto dtype = dtype_name(t.scalar_type());
  TORCH_CHECK(dtype, "a tensor of the dtype ", t.scalar_type(), " has no form in Tenon");
  const auto storage = std::make_shared<const tenon::Storage>(
      tenon::Storage{std::make_shared<at::Tensor>(t), static_cast<std::byte*>(t.data_ptr()),
                     static_cast<std::size_t>(t.numel()) * t.element_size(), true});
  Index sizes = t.sizes().vec();
  Index strides = contiguous_strides(sizes);
  return tenon::Tensor::view_of(storage, *dtype_from_name(*dtype), std::move(sizes), std::move(strides), 0);
}

Attr attribute(const c10::IValue& v) {
  if (v.isBool()) return v.toBool();
  if (v.isInt()) return v.toInt();
  if (v.isDouble()) return v.toDouble();
  if (v.isString()) return v.toStringRef();
  TORCH_CHECK(v.isList(), "an argument of a kind that Tenon's operators do not take");
  Attr::List items;
  for (const c10::IValue& item : v.toListRef()) items.push_back(attribute(item));
  return items;
}

/// Runs the library's function, with types by its signature.
class Kernel : public c10::OperatorKernel {
 public:
  explicit Kernel(const LibraryOperator& op) : op_(op) {}

  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const auto& declared = op_.signature.arguments;
    const auto given = torch::jit::last(*stack, declared.size());
    Custom custom;
    custom.call = {op_.name};
    custom.signature = op_.signature.text;
    std::vector<tenon::Tensor> inputs;
    std::vector<Type> types;
    for (std::size_t i = 0; i < declared.size(); ++i) {
      if (declared[i].kind != OperatorSignature::Kind::tensor) {
        custom.call.push_back(attribute(given[i]));
        continue;
      }
      inputs.push_back(view_of(given[i].toTensor().contiguous()));
      types.push_back({inputs.back().dtype(), to_shape(inputs.back().shape())});
    }
    std::vector<at::Tensor> results;
    std::vector<tenon::Tensor> outputs;
    for (const Type& type : custom.infer(types)) {
      const auto dtype = scalar_type(name(type.dtype));
      TORCH_CHECK(dtype, "LibTorch has no dtype ", std::string(name(type.dtype)));
      results.push_back(at::empty(*known_sizes(type.shape), *dtype));
      outputs.push_back(view_of(results.back()));
    }
    custom.reference(inputs, outputs);
    torch::jit::drop(*stack, declared.size());
    for (at::Tensor& result : results) stack->emplace_back(std::move(result));
  }

 private:
  const LibraryOperator& op_;
};

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view identifier(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_identifier);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// How many names stand before the '=' that `text` ends with: "a, b = " and "a, b, = " have two.
std::size_t results_before(std::string_view text) {
  constexpr std::string_view equals = " = ";
  std::string_view names = text.substr(text.rfind('\n') + 1);
  if (!names.ends_with(equals)) return 1;
  names.remove_suffix(equals.size());
  const auto commas = static_cast<std::size_t>(std::count(names.begin(), names.end(), ','));
  return commas + (names.ends_with(',') ? 0 : 1);
}

/// The operators outside `aten` in TorchScript code ("ops.torchvision.nms(…)"), with their results' number.
void find_operators(std::string_view code, std::map<std::string, std::size_t>& found) {
  constexpr std::string_view prefix = "ops.";
  for (std::size_t at = code.find(prefix); at != std::string_view::npos; at = code.find(prefix, at + 1)) {
    if (at > 0 && (is_identifier(code[at - 1]) || code[at - 1] == '.')) continue;
    const std::string_view space = identifier(code.substr(at + prefix.size()));
    const std::string_view rest = code.substr(at + prefix.size() + space.size());
    if (space.empty() || !rest.starts_with('.')) continue;
    const std::string_view name = identifier(rest.substr(1));
    if (name.empty() || !rest.substr(1 + name.size()).starts_with('(')) continue;
    found.emplace(std::string(space) + "::" + std::string(name), results_before(code.substr(0, at)));
  }
}

}  // namespace

void register_operators(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) load_operator_library(library);
  static std::vector<std::unique_ptr<torch::Library>> kept;
  for (const LibraryOperator& op : library_operators()) {
    const c10::FunctionSchema schema = torch::jit::parseSchema(op.signature.torch_schema(op.name));
    if (c10::Dispatcher::singleton().findSchema(schema.operator_name())) continue;
    const std::string space = op.name.substr(0, op.name.find("::"));
    kept.push_back(std::make_unique<torch::Library>(torch::Library::FRAGMENT, space, std::nullopt, __FILE__,
                                                    static_cast<std::uint32_t>(__LINE__)));
    kept.back()->def(c10::FunctionSchema(schema));
    kept.back()->impl(
        op.name.c_str(),
        torch::dispatch(c10::kCPU, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(op))));
  }
}

void declare_unknown_operators(const ZipReader& file) {
  constexpr std::uint64_t largest = 256u << 20;
  std::map<std::string, std::size_t> found;
  for (const ZipMember& entry : file.members())
    if (inside_root(entry.name).starts_with("code/") && entry.name.ends_with(".py"))
      find_operators(file.read_text(entry, largest), found);
  for (const auto& [name, results] : found) {
    if (!torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)).empty()) continue;
    std::string types = "Tensor";
    for (std::size_t i = 1; i < results; ++i) types += ", Tensor";
    const auto stand_in = [name = name](torch::jit::Stack&) {
      TORCH_CHECK(false, name, " is an operator that LibTorch does not have");
    };
    torch::jit::registerOperator(
        torch::jit::Operator(name + "(...) -> " + (results > 1 ? "(" + types + ")" : types),
                             torch::jit::Operation(stand_in), c10::AliasAnalysisKind::CONSERVATIVE));
  }
}

}  // namespace tenon::libtorch
