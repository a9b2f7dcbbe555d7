#include "ir/ops/custom.h"

#include <array>
#include <list>

#include "base/error.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

using Kind = OperatorSignature::Kind;

static_assert(TENON_BOOL == static_cast<int>(DType::boolean) && TENON_I64 == static_cast<int>(DType::i64) &&
              TENON_F32 == static_cast<int>(DType::f32) && TENON_C128 == static_cast<int>(DType::c128) &&
              TENON_F8E5M2FNUZ == static_cast<int>(DType::f8e5m2fnuz));

tenon_tensor plain(const Tensor& t, void* data) {
  return {.data = data,
          .dtype = static_cast<std::int32_t>(t.dtype()),
          .rank = static_cast<std::int32_t>(t.rank()),
          .sizes = t.shape().data()};
}

/// The arguments that are no tensors, and the memory behind them.
class Arguments {
 public:
  Arguments(const OperatorSignature& signature, std::span<const Attr> values) {
    std::size_t next = 0;
    for (const OperatorSignature::Argument& a : signature.arguments)
      if (a.kind != Kind::tensor) add(a.kind, values[next++]);
  }
  const tenon_argument* data() const { return plain_.data(); }

 private:
  void add(Kind kind, const Attr& value) {
    tenon_argument& a = plain_.emplace_back();
    if (kind == Kind::integer) a.integer = from_attr<std::int64_t>(value);
    if (kind == Kind::boolean) a.integer = from_attr<bool>(value);
    if (kind == Kind::real) a.real = from_attr<double>(value);
    if (kind == Kind::text) a.text = texts_.emplace_back(from_attr<std::string>(value)).c_str();
    if (kind == Kind::integers) {
      const auto& list = integers_.emplace_back(from_attr<std::vector<std::int64_t>>(value));
      a.integers = list.data(), a.count = list.size();
    }
    if (kind == Kind::reals) {
      const auto& list = reals_.emplace_back(from_attr<std::vector<double>>(value));
      a.reals = list.data(), a.count = list.size();
    }
  }

  std::vector<tenon_argument> plain_;
  std::list<std::string> texts_;
  std::list<std::vector<std::int64_t>> integers_;
  std::list<std::vector<double>> reals_;
};

}  // namespace

const std::string& Custom::operator_name() const {
  const auto* text = call.empty() ? nullptr : call[0].get<std::string>();
  if (!text) throw error("the operator's name is missing");
  return *text;
}

const LibraryOperator& Custom::loaded() const {
  const LibraryOperator* found = find_library_operator(operator_name());
  if (!found)
    throw error("the operator {} is computed by a library that is not loaded", operator_name())
        .hint(fmt::format("give the library: --operators {}", library.empty() ? "LIBRARY.so" : library));
  if (found->signature.text != signature)
    throw error("{} was converted as {}, the library has {}", found->name, signature, found->signature.text)
        .at(found->library.string())
        .hint("convert the model again with this library");
  return *found;
}

std::vector<Type> Custom::infer(TypeSpan in) const {
  try {
    return OperatorSignature::parse(signature).infer(in, std::span(call).subspan(call.empty() ? 0 : 1));
  } catch (const Error& e) { throw error("{}: {}", operator_name(), e.message()); }
}

void Custom::reference(InSpan in, OutSpan out) const {
  const LibraryOperator& op = loaded();
  std::vector<Tensor> dense;
  dense.reserve(in.size());
  std::vector<tenon_tensor> inputs, outputs;
  for (const Tensor& t : in) {
    dense.push_back(t.contiguous());
    inputs.push_back(plain(dense.back(), const_cast<std::byte*>(dense.back().bytes())));
  }
  for (Tensor& t : out) outputs.push_back(plain(t, t.mutable_bytes()));
  const Arguments arguments(op.signature, std::span(call).subspan(1));
  std::array<char, 512> message{};
  const int status =
      op.compute(inputs.data(), outputs.data(), arguments.data(), message.data(), message.size());
  message.back() = '\0';
  if (status != 0)
    throw error("{} failed: {}", op.name,
                message[0] ? std::string(message.data()) : fmt::format("it gave the status {}", status))
        .hint("the operator is in " + op.library.string());
}

std::vector<const OpInfo*> custom_ops() { return family(CustomOps{}); }

}  // namespace tenon
