#include "ir/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/literal.h"
#include "ir/ops/control.h"
#include "ir/string_tensor.h"

namespace tenon {
namespace {

using Names = std::unordered_map<const Value*, std::string>;

bool needs_quotes(std::string_view name) {
  if (name.empty()) return true;
  for (const char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '\'') return true;
  return false;
}

std::string sigil_name(char sigil, std::string_view name) {
  return sigil + (needs_quotes(name) ? quoted_text(name) : std::string(name));
}

std::string literal_text(const Tensor& t) {
  if (is_string(t.dtype())) return quoted_text(t.data<Text>()->view());
  if (t.dtype() == DType::boolean) return t.get_int() ? "true" : "false";
  if (!is_float(t.dtype())) return std::to_string(t.get_int());
  return number_text(t.dtype() == DType::f64 ? t.get_double() : shortest(static_cast<float>(t.get_double())));
}

// A comment ends with its line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, '?');
  return text;
}

class Printer {
 public:
  Printer(const Graph& graph, PrintOptions options) : graph_(graph), options_(options) {
    for (const auto& w : graph.weights()) names_[w.get()] = sigil_name('@', w->name());
    name_region(graph.body());
  }

  std::string graph() {
    out_ += fmt::format("graph {}(", needs_quotes(graph_.name) ? quoted_text(graph_.name) : graph_.name);
    parameters(graph_.body());
    out_ += ")";
    symbols();
    out_ += " {\n";
    if (options_.weights)
      for (const auto& w : graph_.weights())
        out_ += fmt::format("  {} : {}\n", names_[w.get()], w->type().str());
    region(graph_.body(), 1);
    out_ += "}\n";
    return std::move(out_);
  }

  std::string one(const Node& n) {
    node(n, 0);
    return std::exchange(out_, {});
  }

  Names names() && { return std::move(names_); }

 private:
  // Parameters keep their names; results are numbered in order. A fused body is printed inline, with the
  // operands' own names, so that only its inner results need names.
  void name_region(const Region& r) {
    for (const auto& p : r.parameters()) {
      std::string name = p->name().empty() ? fmt::format("%p{}", next_++) : sigil_name('%', p->name());
      while (!taken_.insert(name).second) name += "'";
      names_[p.get()] = std::move(name);
    }
    for (const auto& n : r.nodes()) {
      if (!n->is<Fused>())
        for (const auto& inner : n->regions()) name_region(*inner);
      for (std::size_t i = 0; i < n->num_outputs(); ++i) {
        std::string name;
        do { name = fmt::format("%{}", ++next_); } while (!taken_.insert(name).second);
        names_[n->output(i)] = std::move(name);
      }
      if (n->is<Fused>()) name_fused(*n);
    }
  }

  void name_fused(const Node& n) {
    const Region& body = n.region();
    for (std::size_t i = 0; i < body.parameters().size(); ++i)
      names_[body.parameter(i)] = names_.at(n.input(i));
    int inner = 0;
    const std::string base = names_.at(n.output());
    for (const auto& step : body.nodes())
      for (std::size_t i = 0; i < step->num_outputs(); ++i)
        names_[step->output(i)] = fmt::format("{}.{}", base, ++inner);
  }

  void parameters(const Region& r) {
    for (std::size_t i = 0; i < r.parameters().size(); ++i) {
      const Value* p = r.parameter(i);
      out_ += fmt::format("{}{}: {}", i ? ", " : "", names_.at(p), p->type().str());
    }
  }

  void symbols() {
    std::string text;
    for (const auto& [name, info] : graph_.symbols) {
      if (info == SymbolInfo{}) continue;
      text += text.empty() ? " where " : ", ";
      text +=
          fmt::format("{} in {}..{}", name, info.min,
                      info.max == std::numeric_limits<std::int64_t>::max() ? "" : std::to_string(info.max));
      if (!info.note.empty()) text += fmt::format(" {}", quoted_text(info.note));
    }
    out_ += text;
  }

  void region(const Region& r, int depth) {
    for (const auto& n : r.nodes()) {
      out_ += std::string(static_cast<std::size_t>(depth) * 2, ' ');
      node(*n, depth);
      out_ += "\n";
    }
    out_ += std::string(static_cast<std::size_t>(depth) * 2, ' ') + "return";
    for (std::size_t i = 0; i < r.results().size(); ++i) {
      out_ += (i ? ", " : " ") + operand(r.results()[i], nullptr);
      if (&r == &graph_.body() && !graph_.output_names.empty())
        out_ += " as " + quoted_text(output_name(graph_, i));
    }
    out_ += "\n";
  }

  // A number's dtype is that of the node's first operand that is no literal; otherwise it is written.
  std::string operand(const Value* v, const Node* user) const {
    if (v->kind() != Value::Kind::literal) return names_.at(v);
    const Value* first = nullptr;
    if (user)
      for (const Value* in : user->inputs())
        if (!first && in->kind() != Value::Kind::literal) first = in;
    std::string text = literal_text(v->tensor());
    const bool is_said = is_string(v->dtype()) || (first && first->dtype() == v->dtype());
    if (!is_said) text += fmt::format(":{}", name(v->dtype()));
    return text;
  }

  std::string call(const Node& n, const Value* previous) const {
    std::string args;
    for (const Value* in : n.inputs()) {
      if (!args.empty()) args += ", ";
      args += in == previous ? "_" : operand(in, &n);
    }
    const auto attributes = n.op().attributes();
    if (args == "_" && attributes.empty()) return std::string(n.op().name());
    for (const auto& [field, value] : attributes)
      args += fmt::format("{}{}={}", args.empty() ? "" : ", ", field, value.str());
    return fmt::format("{}({})", n.op().name(), args);
  }

  void results(const Node& n) {
    for (std::size_t i = 0; i < n.num_outputs(); ++i)
      out_ += fmt::format("{}{}", i ? ", " : "", names_.at(n.output(i)));
    if (n.num_outputs()) out_ += " = ";
  }

  void node(const Node& n, int depth) {
    results(n);
    if (n.is<Fused>()) {
      fused(n);
    } else {
      out_ += call(n, nullptr);
      for (const auto& inner : n.regions()) {
        out_ += " (";
        parameters(*inner);
        if (!options_.bodies) {
          out_ += ") {...}";
          continue;
        }
        out_ += ") {\n";
        region(*inner, depth + 1);
        out_ += std::string(static_cast<std::size_t>(depth) * 2, ' ') + "}";
      }
    }
    for (std::size_t i = 0; i < n.num_outputs(); ++i)
      out_ += fmt::format("{}{}", i ? ", " : " : ", n.output(i)->type().str());
    if (!options_.sources) return;
    std::string place = n.source.modules_text();
    if (options_.lines && !n.source.file.empty())
      place += fmt::format("{}({}:{})", place.empty() ? "" : " ", n.source.file, n.source.line);
    if (!place.empty()) out_ += "  # " + one_line(std::move(place));
  }

  // fused conv(%x, @w, @b, pad=1) { add(_, %5); relu }
  void fused(const Node& n) {
    const Region& body = n.region();
    out_ += "fused ";
    const auto& steps = body.nodes();
    const bool anchored = !steps.front()->op().is_pointwise() && steps.size() > 1;
    const Value* previous = nullptr;
    bool inside = false;
    for (const auto& step : steps) {
      const bool outside = anchored && step == steps.front();
      if (!outside) out_ += std::exchange(inside, true) ? "; " : "{ ";
      if (!is_chained(*step, body)) results(*step);
      out_ += call(*step, previous) + (outside ? " " : "");
      previous = is_chained(*step, body) ? step->output() : nullptr;
    }
    if (!is_chained(*steps.back(), body)) {
      out_ += "; return ";
      for (std::size_t i = 0; i < body.results().size(); ++i)
        out_ += (i ? ", " : "") + names_.at(body.results()[i]);
    }
    out_ += " }";
  }

  static bool feeds_only_next(const Value* v, const Node& next) {
    for (const Use& u : v->uses())
      if (u.node != &next) return false;
    return !v->uses().empty();
  }

  // A step whose single result goes to the next step only (or is the body's only result) needs no name.
  static bool is_chained(const Node& step, const Region& body) {
    if (step.num_outputs() != 1) return false;
    const Node* next = body.next(&step);
    if (!next)
      return body.results().size() == 1 && body.results()[0] == step.output() &&
             step.output()->uses().size() == 1;
    return feeds_only_next(step.output(), *next);
  }

  const Graph& graph_;
  PrintOptions options_;
  Names names_;
  std::unordered_set<std::string> taken_;
  std::string out_;
  int next_ = 0;
};

}  // namespace

std::string print(const Graph& graph, PrintOptions options) { return Printer(graph, options).graph(); }

std::string print(const Graph& graph, const Node& node, PrintOptions options) {
  return Printer(graph, options).one(node);
}

std::vector<std::string> print_nodes(const Graph& graph, PrintOptions options) {
  Printer printer(graph, options);
  std::vector<std::string> texts;
  for (const auto& node : graph.body().nodes()) texts.push_back(printer.one(*node));
  return texts;
}

std::vector<std::string> print_nodes(const Graph& graph, std::span<const Node* const> nodes,
                                     PrintOptions options) {
  Printer printer(graph, options);
  std::vector<std::string> texts;
  for (const Node* node : nodes) texts.push_back(node ? printer.one(*node) : "");
  return texts;
}

std::unordered_map<const Value*, std::string> value_names(const Graph& graph) {
  return Printer(graph, {}).names();
}

std::string print(const Op& op) {
  std::string args;
  for (const auto& [field, value] : op.attributes())
    args += fmt::format("{}{}={}", args.empty() ? "" : ", ", field, value.str());
  return std::string(op.name()) + (args.empty() ? "" : "(" + args + ")");
}

}  // namespace tenon
