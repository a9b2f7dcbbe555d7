// Sizes as values: an input's shape tells its symbols, the rest is arithmetic.
#include "base/error.h"
#include "exporter/onnx/writer.h"
#include "ir/dim_parts.h"

namespace tenon::exporter::onnx {
namespace {

/// A dim that is linear in its only symbol: slope * symbol + rest.
struct Linear {
  std::string symbol;
  std::int64_t slope, rest;
};
std::optional<Linear> linear(const Dim& dim) {
  const auto terms = DimParts::terms(dim);
  if (terms.size() != 1 || terms[0].atoms.size() != 1 || terms[0].atoms[0]->kind != AtomKind::symbol)
    return std::nullopt;
  return Linear{terms[0].atoms[0]->text, terms[0].coefficient, DimParts::constant(dim)};
}

}  // namespace

void OnnxWriter::find_sizes(const Graph& graph) {
  // The size of an axis is read where it is needed: a node for a size that nobody uses would say nothing.
  for (const bool alone : {true, false})
    for (const auto& p : graph.body().parameters())
      for (std::size_t axis = 0; axis < p->rank(); ++axis) {
        const auto is = linear(p->shape()[axis]);
        if (!is || (is->slope == 1 && is->rest == 0) != alone) continue;
        size_sources_.try_emplace(
            is->symbol, SizeSource{value(p.get()), static_cast<std::int64_t>(axis), is->slope, is->rest});
      }
}

OnnxValue OnnxWriter::size(const Dim& dim) {
  if (dim.is_known()) return integers({dim.value()});
  const std::string key = dim.str();
  for (const Scope* scope = scope_; scope; scope = scope->outer)
    if (const auto found = scope->sizes.find(key); found != scope->sizes.end()) return found->second;
  const OnnxValue made = computed(dim);
  scope_->sizes[key] = made;
  return made;
}

OnnxValue OnnxWriter::size_number(const Dim& dim) {
  if (dim.is_known()) return constant(Tensor::scalar(DType::i64, dim.value()));
  return add("Reshape", {size(dim), integers({})});
}

OnnxValue OnnxWriter::sizes(const Shape& shape) {
  if (const auto known = known_sizes(shape)) return integers(*known);
  OnnxValues parts;
  for (const Dim& d : shape) parts.push_back(size(d));
  return parts.size() == 1 ? parts[0] : add("Concat", parts, {{"axis", std::int64_t{0}}});
}

void OnnxWriter::give_size(const std::string& symbol, OnnxValue size) {
  scope_->sizes[Dim::symbol(symbol).str()] = std::move(size);
}

OnnxValue OnnxWriter::computed(const Dim& dim) {
  const auto of_symbol = [&](const std::string& name) {
    const auto found = size_sources_.find(name);
    if (found == size_sources_.end()) throw unsupported("no input tells the size {}", name);
    const auto& [input, axis, slope, rest] = found->second;
    OnnxValue size = add("Shape", {input}, {{"start", axis}, {"end", axis + 1}}, DType::i64);
    if (rest != 0) size = add("Sub", {size, integers({rest})});
    return slope == 1 ? size : add("Div", {size, integers({slope})});
  };
  const auto of_atom = [&](const DimParts::Atom& atom) {
    if (atom.kind == AtomKind::symbol) return of_symbol(atom.text);
    OnnxValues args;
    for (const Dim& d : atom.args) args.push_back(size(d));
    switch (atom.kind) {
      case AtomKind::min: return add("Min", args);
      case AtomKind::max: return add("Max", args);
      case AtomKind::mod: return add("Mod", args);
      default: break;
    }
    // ONNX divides towards zero.
    const bool is_positive = atom.args[0].range().min.value_or(-1) >= 0;
    return add("Div", {is_positive ? args[0] : add("Sub", {args[0], add("Mod", args)}), args[1]});
  };
  if (const DimParts::Atom* atom = DimParts::as_atom(dim)) return of_atom(*atom);
  std::optional<OnnxValue> sum;
  for (const DimParts::Term& term : DimParts::terms(dim)) {
    std::optional<OnnxValue> product;
    for (const auto& atom : term.atoms) {
      const OnnxValue factor = size(DimParts::of({1, {atom}}));
      product = product ? add("Mul", {*product, factor}) : factor;
    }
    if (term.coefficient != 1) product = add("Mul", {*product, integers({term.coefficient})});
    sum = sum ? add("Add", {*sum, *product}) : *product;
  }
  if (DimParts::constant(dim) != 0) sum = add("Add", {*sum, integers({DimParts::constant(dim)})});
  return *sum;
}

}  // namespace tenon::exporter::onnx
