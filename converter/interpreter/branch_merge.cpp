#include "converter/interpreter/branch_merge.h"

#include <algorithm>

#include "base/error.h"
#include "converter/interpreter/numbers.h"
#include "converter/interpreter/regions.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

BranchMerge::BranchMerge(Builder& builder, Node& node, const Snapshot& before,
                         std::array<const Snapshot*, 2> after, std::string why)
    : build_(builder), node_(node), before_(before), after_(after), why_(std::move(why)) {}

AbstractValue BranchMerge::divergent(std::string what) {
  is_divergent_ = true;
  return AbstractValue(DivergentValue{fmt::format("{}, depending on {}", what, why_)});
}

AbstractValue BranchMerge::value(const AbstractValue& a, const AbstractValue& b) {
  if (is_same_thing(a, b)) return a;
  if (a.is<Uninitialized>()) return of_one(b, 1);
  if (b.is<Uninitialized>()) return of_one(a, 0);
  if (a.is<Poison>() || b.is<Poison>()) return AbstractValue(Poison{});
  const bool scalars = is_python_scalar(a) && is_python_scalar(b);
  const auto is_bool_value = [](const AbstractValue& d) { return d.is<bool>() || d.is<SymbolicBool>(); };
  if (scalars && is_bool_value(a) && is_bool_value(b)) {
    const TensorPtr t = output(
        {DType::boolean, {}}, [this, a] { return condition_value(build_, a); },
        [this, b] { return condition_value(build_, b); });
    return AbstractValue(symbolic_bool("a bool that depends on " + why_, "truth", {AbstractValue(t)}));
  }
  if (scalars && !is_bool_value(a) && !is_bool_value(b)) {
    const auto is_real = [](const AbstractValue& d) {
      return d.is<double>() || (d.is_tensor() && is_float((*d.get<TensorPtr>())->dtype()));
    };
    const DType dtype = is_real(a) || is_real(b) ? DType::f64 : DType::i64;
    const TensorPtr t = output(
        {dtype, {}}, [this, a, dtype] { return cast(dtype, number_value(build_, a)); },
        [this, b, dtype] { return cast(dtype, number_value(build_, b)); });
    t->is_scalar = true;
    return AbstractValue(t);
  }
  if (a.is_tensor() && b.is_tensor() && !scalars) return tensors(*a.get<TensorPtr>(), *b.get<TensorPtr>());
  if (a.is<ListPtr>() && b.is<ListPtr>()) return lists(*a.get<ListPtr>(), *b.get<ListPtr>());
  if (a.is<TuplePtr>() && b.is<TuplePtr>()) {
    const Tuple &x = **a.get<TuplePtr>(), &y = **b.get<TuplePtr>();
    if (x.items.size() != y.items.size()) return divergent("a tuple of another length");
    auto tuple = std::make_shared<Tuple>(x);
    tuple->items = items(x.items, y.items);
    return AbstractValue(TuplePtr(tuple));
  }
  if (a.is<DictPtr>() && b.is<DictPtr>() && !before_.dicts.contains(*a.get<DictPtr>()) &&
      !before_.dicts.contains(*b.get<DictPtr>())) {
    const Dict &x = **a.get<DictPtr>(), &y = **b.get<DictPtr>();
    const bool same_keys =
        std::equal(x.items.begin(), x.items.end(), y.items.begin(), y.items.end(),
                   [](const auto& p, const auto& q) { return is_same_thing(p.first, q.first); });
    if (!same_keys) return divergent("a dict with other keys");
    return one_for(&x, &y, [&] {
      auto dict = std::make_shared<Dict>(x);
      for (std::size_t i = 0; i < x.items.size(); ++i)
        dict->items[i].second = value(x.items[i].second, y.items[i].second);
      return AbstractValue(dict);
    });
  }
  return divergent(kind_name(a) + (kind_name(a) == kind_name(b) ? "" : " or " + kind_name(b)));
}

/// What one branch alone gives: nobody uses it after the other, which gives zeros.
AbstractValue BranchMerge::of_one(const AbstractValue& d, std::size_t branch) {
  const auto all = [&](std::vector<AbstractValue> items) {
    for (AbstractValue& item : items) item = of_one(item, branch);
    return items;
  };
  const auto beside_zeros = [&](Type type, const ReadValue& read) {
    const ReadValue zeros = [this, type] {
      return full(type.shape, 0, type.dtype, build_.insertion_point());
    };
    return branch == 0 ? output(type, read, zeros) : output(type, zeros, read);
  };
  if (const auto* list = d.get<ListPtr>()) {
    if (before_.lists.contains(*list)) return d;
    return one_for(list->get(), nullptr, [&] { return list_of(all((*list)->items)); });
  }
  if (const auto* tuple = d.get<TuplePtr>()) {
    auto copy = std::make_shared<Tuple>(**tuple);
    copy->items = all(copy->items);
    return AbstractValue(TuplePtr(copy));
  }
  if (d.is<SymbolicBool>()) {
    const TensorPtr t = beside_zeros({DType::boolean, {}}, [this, d] { return condition_value(build_, d); });
    return AbstractValue(symbolic_bool("a bool that depends on " + why_, "truth", {AbstractValue(t)}));
  }
  const auto* tensor = d.get<TensorPtr>();
  if (!tensor || before_.holds((*tensor)->buffer)) return d;
  const Type& type = (*tensor)->type;
  const bool has_zeros = !is_string(type.dtype) && !is_complex(type.dtype) &&
                         std::none_of(type.shape.begin(), type.shape.end(), has_data_size);
  if (!has_zeros) return divergent("a tensor " + type.str() + " that one branch makes");
  const TensorPtr t = beside_zeros(type, [this, made = *tensor] { return build_.read(made); });
  t->is_scalar = (*tensor)->is_scalar;
  return AbstractValue(t);
}

std::vector<AbstractValue> BranchMerge::items(const std::vector<AbstractValue>& a,
                                              const std::vector<AbstractValue>& b) {
  std::vector<AbstractValue> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(value(a[i], b[i]));
  return out;
}

AbstractValue BranchMerge::lists(const ListPtr& a, const ListPtr& b) {
  if (before_.lists.contains(a) || before_.lists.contains(b)) return divergent("one list or another");
  if (a->items.size() != b->items.size()) return divergent("a list of another length");
  return one_for(a.get(), b.get(), [&] { return list_of(items(a->items, b->items)); });
}

/// What is one list in each branch is one list after them, whatever names it has.
AbstractValue BranchMerge::one_for(const void* a, const void* b, const std::function<AbstractValue()>& make) {
  const std::pair both(a, b);
  for (const void* of : {a, b}) {
    const auto known = containers_.find(of);
    if (!of || known == containers_.end()) continue;
    return known->second.first == both ? known->second.second : divergent("one list or dict, or two");
  }
  const AbstractValue made = make();
  for (const void* of : {a, b})
    if (of) containers_.emplace(of, std::pair(both, made));
  return made;
}

AbstractValue BranchMerge::tensors(const TensorPtr& a, const TensorPtr& b) {
  if (a->dtype() != b->dtype() || a->rank() != b->rank())
    return divergent(fmt::format("a tensor {} or {}", a->type.str(), b->type.str()));
  const Type type = sizes_.either(build_, a->type, b->type, outputs_.size(), op_);
  const TensorPtr t = output(
      type, [this, a] { return build_.read(a); }, [this, b] { return build_.read(b); });
  t->layout = a->layout == b->layout ? a->layout : std::nullopt;
  for (const TensorPtr& from : {a, b}) {
    aliases(t, from);
    if (Builder::repeats(*from)) t->buffer->fixed = "a tensor whose elements may share memory";
    if (!from->buffer->fixed.empty()) t->buffer->fixed = from->buffer->fixed;
  }
  return AbstractValue(t);
}

/// Where PyTorch has one memory, the merged tensor has its own: then neither may be written and read.
void BranchMerge::aliases(const TensorPtr& merged, const TensorPtr& from) {
  for (const auto& memory : Builder::memory_of(from->buffer)) {
    if (before_.holds(memory))
      changes_.push_back([merged, memory] { Builder::share_maybe(merged->buffer, memory); });
    auto& others = made_[memory];
    for (const auto& other : others) Builder::share_maybe(merged->buffer, other);
    others.push_back(merged->buffer);
  }
}

TensorPtr BranchMerge::output(Type type, ReadValue a, ReadValue b) {
  auto t = std::make_shared<AbstractTensor>();
  t->buffer = std::make_shared<Buffer>();
  t->type = std::move(type);
  t->layout = dense_layout(t->shape());
  outputs_.push_back({{std::move(a), std::move(b)},
                      [this, buffer = t->buffer](Value* v) { build_.set_content(*buffer, v); }});
  return t;
}

void BranchMerge::buffers() {
  for (const auto& [buffer, before] : before_.buffers) {
    const Buffer &a = after_[0]->buffers.at(buffer), &b = after_[1]->buffers.at(buffer);
    if (is_same_content(a, before) && is_same_content(b, before)) continue;
    changes_.push_back([buffer = buffer, a, b] {
      buffer->poisoned = a.poisoned || b.poisoned;
      buffer->unreadable = a.unreadable.empty() ? b.unreadable : a.unreadable;
      buffer->maybe_shared.insert(a.maybe_shared.begin(), a.maybe_shared.end());
      buffer->maybe_shared.insert(b.maybe_shared.begin(), b.maybe_shared.end());
    });
    if (a.version == before.version && b.version == before.version) continue;
    const ReadValue read = [this, buffer = buffer] { return build_.content(*buffer); };
    outputs_.push_back({{read, read}, [this, buffer = buffer](Value* v) { build_.set_content(*buffer, v); }});
  }
}

/// What a step of a loop appends to a list that grows: an item, and whether it does.
void BranchMerge::appended(const ListPtr& list, const List& a, const List& b) {
  const std::array<std::optional<Appended>, 2> of = {appended_to(a), appended_to(b)};
  const TensorPtr some = of[0] ? of[0]->item : of[1]->item;
  Appended both;
  std::array<ReadValue, 2> item, kept;
  for (std::size_t k = 0; k < 2; ++k) {
    if (of[k] && of[k]->item->type != some->type)
      throw unsupported("a list gets {} or {}, depending on {}", some->type.str(), of[k]->item->type.str(),
                        why_);
    if (of[k]) {
      both.from.push_back(of[k]->item);
      both.from.insert(both.from.end(), of[k]->from.begin(), of[k]->from.end());
    }
    item[k] = [this, some, own = of[k]] {
      return own ? build_.read(own->item) : full(some->shape(), 0, some->dtype(), build_.insertion_point());
    };
    kept[k] = [this, own = of[k]] { return condition_value(build_, own ? own->kept : AbstractValue(false)); };
  }
  both.item = output(some->type, item[0], item[1]);
  both.kept = symbolic_bool("a bool that depends on " + why_, "truth",
                            {AbstractValue(output({DType::boolean, {}}, kept[0], kept[1]))});
  changes_.push_back([list, both = std::move(both)] { list->items = items_of(both); });
}

void BranchMerge::containers() {
  for (const auto& [list, before] : before_.lists) {
    for (const Snapshot* after : after_)
      if (const std::string& what = after->lists.at(list).fixed; !what.empty())
        changes_.push_back([list = list, what] { list->fixed = what; });
    const auto &a = after_[0]->lists.at(list).items, &b = after_[1]->lists.at(list).items;
    const auto same = [&then = before.items](const std::vector<AbstractValue>& now) {
      return std::equal(now.begin(), now.end(), then.begin(), then.end(), is_same_thing);
    };
    if (same(a) && same(b)) continue;
    if (list->grows && before.items.empty() && (a.size() != b.size() || a[0].is<TuplePtr>())) {
      appended(list, after_[0]->lists.at(list), after_[1]->lists.at(list));
      continue;
    }
    if (a.size() != b.size())
      throw ListGrows(list, fmt::format("a list that gets another length, depending on {}", why_));
    auto merged = items(a, b);
    changes_.push_back([list = list, merged = std::move(merged)] { list->items = merged; });
  }
  for (const auto& [dict, before] : before_.dicts) {
    const auto &a = after_[0]->dicts.at(dict).items, &b = after_[1]->dicts.at(dict).items;
    const auto same = [](const auto& x, const auto& y, auto equal) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(), equal);
    };
    const auto same_item = [](const auto& p, const auto& q) {
      return is_same_thing(p.first, q.first) && is_same_thing(p.second, q.second);
    };
    const auto same_key = [](const auto& p, const auto& q) { return is_same_thing(p.first, q.first); };
    if (same(a, before.items, same_item) && same(b, before.items, same_item)) continue;
    if (!same(a, b, same_key)) throw unsupported("a dict that gets other keys, depending on {}", why_);
    auto merged = a;
    for (std::size_t i = 0; i < a.size(); ++i) merged[i].second = value(a[i].second, b[i].second);
    changes_.push_back([dict = dict, merged = std::move(merged)] { dict->items = merged; });
  }
}

void BranchMerge::attributes() {
  for (const auto& [key, before] : before_.slots) {
    const auto &a = after_[0]->slots.at(key), &b = after_[1]->slots.at(key);
    auto merged = before_.slots.at(key);
    merged.read_first = a.read_first || b.read_first;
    merged.written = a.written || b.written;
    merged.current = value(a.current, b.current);
    changes_.push_back(
        [this, key = key, merged = std::move(merged)] { before_.objects().slots().at(key) = merged; });
  }
}

void BranchMerge::finish() {
  for (const Snapshot* after : after_) check_same_views(before_, *after);
  buffers();
  containers();
  attributes();
  for (std::size_t k = 0; k < 2; ++k) {
    after_[k]->restore();
    const auto inside = build_.enter(node_.region(k));
    for (const Output& o : outputs_) node_.region(k).add_result(o.read[k]().value());
  }
  before_.restore();
  capture(node_);
  node_.set_op(op_);
  node_.add_outputs(node_.infer());
  for (const auto& change : changes_) change();
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].set(node_.output(i));
}

}  // namespace tenon::converter
