#include "converter/custom.h"

#include "base/error.h"
#include "converter/aten/call.h"
#include "ir/ops/custom.h"

namespace tenon::converter {
namespace {

using Kind = OperatorSignature::Kind;

Attr real(const AbstractValue& d, const std::string& name) {
  if (const auto* number = d.get<double>()) return *number;
  if (const auto* dim = d.get<Dim>(); dim && dim->is_known()) return static_cast<double>(dim->value());
  throw unsupported("argument {} holds {}, not a known number", name, kind_name(d));
}

Attr value(Call& call, const OperatorSignature::Argument& a) {
  switch (a.kind) {
    case Kind::integer: return call.size(a.name);
    case Kind::real: return call.number(a.name);
    case Kind::boolean: return call.flag(a.name, false);
    case Kind::text: return call.word(a.name, "");
    default: break;
  }
  Attr::List items;
  if (a.kind == Kind::integers) {
    for (const Dim& size : call.sizes(a.name)) items.emplace_back(size);
  } else {
    const auto* given = items_of(call.value(a.name));
    if (!given) throw unsupported("argument {} is {}, not a list", a.name, kind_name(call.value(a.name)));
    for (const AbstractValue& item : *given) items.push_back(real(item, a.name));
  }
  return items;
}

}  // namespace

std::vector<AbstractValue> run_library_operator(Builder& build, const LibraryOperator& op,
                                                std::span<const AbstractValue> arguments) {
  const auto& declared = op.signature.arguments;
  if (arguments.size() != declared.size())
    throw error("{} arguments are given to {}", arguments.size(), op.signature.text);
  std::vector<Argument> named;
  for (std::size_t i = 0; i < declared.size(); ++i) named.push_back({declared[i].name, arguments[i]});
  Call call(build, op.name, "", std::move(named));
  Custom custom{.call = {op.name}, .signature = op.signature.text, .library = op.library.filename().string()};
  std::vector<Ref> tensors;
  for (const auto& a : declared) {
    if (a.kind == Kind::tensor)
      tensors.push_back(call.tensor(a.name));
    else
      custom.call.push_back(value(call, a));
  }
  std::vector<AbstractValue> results;
  for (const Ref& r : apply_all(std::move(custom), tensors, build.insertion_point()))
    results.emplace_back(build.tensor(r));
  return results;
}

}  // namespace tenon::converter
