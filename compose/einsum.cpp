#include "compose/einsum.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"

namespace tenon {

namespace {

/// A tensor whose axes have one-letter names. Axes under an ellipsis are named '0', '1', ... from the last
/// on.
struct Named {
  std::string axes;
  Ref value;

  std::size_t place(char axis) const { return axes.find(axis); }
  bool has(char axis) const { return place(axis) != std::string::npos; }
  Dim size(char axis) const { return value.shape()[place(axis)]; }
};

std::string without_spaces(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != ' ') out += c;
  return out;
}

std::vector<std::string> split_terms(const std::string& text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::string ellipsis_axes(std::size_t count) {
  std::string out;
  for (std::size_t i = count; i-- > 0;) out += static_cast<char>('0' + i);
  return out;
}

/// Of the last of two axes of one name there is only the diagonal left, in the place of the first.
Named on_diagonals(Named n) {
  for (std::size_t i = 0; i < n.axes.size(); ++i) {
    const std::size_t j = n.axes.find(n.axes[i], i + 1);
    if (j == std::string::npos) continue;
    const Dim size = n.value.shape()[i];
    std::vector<std::int64_t> order;
    std::string axes;
    Shape shape;
    for (std::size_t k = 0; k < n.axes.size(); ++k) {
      if (k == i || k == j) continue;
      order.push_back(static_cast<std::int64_t>(k));
      axes += n.axes[k];
      shape.push_back(n.value.shape()[k]);
    }
    if (known_equal(size, n.value.shape()[j]) != true)
      throw error("einsum: index '{}' is {} and {}", n.axes[i], size.str(), n.value.shape()[j].str());
    if (!size.is_known()) throw unsupported("einsum with index '{}' of an unknown size twice", n.axes[i]);
    axes += n.axes[i];
    order.push_back(static_cast<std::int64_t>(i));
    order.push_back(static_cast<std::int64_t>(j));
    const auto last = static_cast<std::int64_t>(shape.size());
    shape.push_back(size * size);
    n = {axes, slice(reshape(permute(n.value, order), shape), last, Dim(0), size * size, size.value() + 1)};
    i = static_cast<std::size_t>(-1);
  }
  return n;
}

/// Takes "..." away and says where it stood (npos: nowhere).
std::size_t take_dots(std::string& term) {
  const std::size_t dots = term.find("...");
  if (dots != std::string::npos) term.erase(dots, 3);
  for (const char c : term)
    if (!std::isalpha(static_cast<unsigned char>(c)))
      throw error("einsum: an index is a letter, not '{}'", c);
  return dots;
}

std::string named_axes(std::string term, std::size_t rank) {
  const std::size_t dots = take_dots(term);
  if (dots == std::string::npos ? term.size() != rank : term.size() > rank)
    throw error("einsum: '{}' names {} axes of a tensor of rank {}", term, term.size(), rank);
  if (dots != std::string::npos) term.insert(dots, ellipsis_axes(rank - term.size()));
  return term;
}

/// Without "->": ellipsis axes, then the indices that stand once in all terms, in alphabetical order.
std::string implied_result(std::string all) {
  std::sort(all.begin(), all.end());
  std::string once, ellipsis;
  for (char c : all) {
    if (c >= '0' && c <= '9') {
      if (ellipsis.find(c) == std::string::npos) ellipsis.insert(ellipsis.begin(), c);
    } else if (std::count(all.begin(), all.end(), c) == 1) {
      once += c;
    }
  }
  return ellipsis + once;
}

std::string named_result(std::string result, const std::vector<Named>& operands, std::size_t ellipsis) {
  const std::size_t dots = take_dots(result);
  for (const char c : result) {
    if (std::none_of(operands.begin(), operands.end(), [&](const Named& n) { return n.has(c); }))
      throw error("einsum: index '{}' of the result is in no operand", c);
    if (std::count(result.begin(), result.end(), c) != 1)
      throw error("einsum: index '{}' stands twice in the result", c);
  }
  if (dots != std::string::npos) result.insert(dots, ellipsis_axes(ellipsis));
  return result;
}

Named reordered(const Named& n, const std::string& axes) {
  std::vector<std::int64_t> order;
  bool moves = false;
  for (char c : axes) {
    moves |= n.place(c) != order.size();
    order.push_back(static_cast<std::int64_t>(n.place(c)));
  }
  return {axes, moves ? permute(n.value, order) : n.value};
}

/// Sums over the axes that are not wanted any more.
Named summed(const Named& n, const std::string& wanted, const Contraction& how) {
  Named out;
  Axes gone;
  for (std::size_t i = 0; i < n.axes.size(); ++i) {
    if (wanted.find(n.axes[i]) == std::string::npos)
      gone.push_back(static_cast<std::int64_t>(i));
    else
      out.axes += n.axes[i];
  }
  out.value = gone.empty() ? n.value : how.sum(n.value, gone);
  return out;
}

Dim product(const Shape& shape) { return numel(shape); }

Shape sizes(const Named& n, const std::string& axes) {
  Shape out;
  for (char c : axes) out.push_back(n.size(c));
  return out;
}

Ref grouped(const Named& n, const std::string& batch, const std::string& first, const std::string& second) {
  Shape shape = sizes(n, batch);
  shape.push_back(product(sizes(n, first)));
  shape.push_back(product(sizes(n, second)));
  return reshape(reordered(n, batch + first + second).value, shape);
}

/// Elementwise, each operand with axes of size 1 where it has none.
Named multiplied(const Named& a, const Named& b, const Contraction& how) {
  std::string axes = a.axes;
  for (char c : b.axes)
    if (!a.has(c)) axes += c;
  const auto spread = [&](const Named& n) {
    std::string own;
    Shape shape;
    for (char c : axes) {
      if (n.has(c)) own += c;
      shape.push_back(n.has(c) ? n.size(c) : Dim(1));
    }
    return reshape(reordered(n, own).value, shape);
  };
  return {axes, how.times(spread(a), spread(b))};
}

/// The product of two operands, summed over what neither the result nor a later operand needs.
Named contracted(const Named& left, const Named& right, const std::string& needed, const Contraction& how) {
  const Named a = summed(left, needed + right.axes, how);
  const Named b = summed(right, needed + left.axes, how);
  std::string batch, inner, of_a, of_b;
  for (char c : a.axes) (!b.has(c) ? of_a : needed.find(c) != std::string::npos ? batch : inner) += c;
  for (char c : b.axes)
    if (!a.has(c)) of_b += c;
  if (inner.empty()) return multiplied(a, b, how);
  for (char c : inner)
    if (known_equal(a.size(c), b.size(c)) == false && (a.size(c) == Dim(1) || b.size(c) == Dim(1)))
      return summed(multiplied(a, b, how), needed, how);
  const Ref y = how.product(grouped(a, batch, of_a, inner), grouped(b, batch, inner, of_b));
  Shape shape(y.shape().begin(), y.shape().begin() + static_cast<std::ptrdiff_t>(batch.size()));
  for (char c : of_a) shape.push_back(a.size(c));
  for (char c : of_b) shape.push_back(b.size(c));
  return {batch + of_a + of_b, reshape(y, shape)};
}

}  // namespace

Ref einsum(std::string_view equation, std::span<const Ref> operands) {
  constexpr Contraction real{matmul, [](const Ref& a, const Ref& b) { return a * b; },
                             [](const Ref& x, const Axes& axes) { return sum(x, axes); }};
  return einsum(equation, operands, real);
}

Ref einsum(std::string_view equation, std::span<const Ref> operands, const Contraction& how) {
  const std::string text = without_spaces(equation);
  const std::size_t arrow = text.find("->");
  const auto terms = split_terms(text.substr(0, arrow));
  if (terms.size() != operands.size()) throw error("einsum '{}' with {} operands", equation, operands.size());
  std::vector<Named> named;
  std::string all_axes;
  std::size_t ellipsis = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::string axes = named_axes(terms[i], operands[i].rank());
    all_axes += axes;
    named.push_back(on_diagonals({axes, operands[i]}));
    if (terms[i].find("...") != std::string::npos)
      ellipsis = std::max(ellipsis, operands[i].rank() + 3 - terms[i].size());
  }
  const std::string result = arrow == std::string::npos
                                 ? implied_result(all_axes)
                                 : named_result(text.substr(arrow + 2), named, ellipsis);
  Named y = named[0];
  for (std::size_t i = 1; i < named.size(); ++i) {
    std::string needed = result;
    for (std::size_t later = i + 1; later < named.size(); ++later) needed += named[later].axes;
    y = contracted(y, named[i], needed, how);
  }
  return reordered(summed(y, result, how), result).value;
}

std::string tensordot_equation(std::size_t rank_of_a, std::size_t rank_of_b,
                               std::span<const std::int64_t> axes_of_a,
                               std::span<const std::int64_t> axes_of_b) {
  std::string of_a, of_b, result;
  for (std::size_t i = 0; i < rank_of_a; ++i) of_a += static_cast<char>('a' + i);
  for (std::size_t i = 0; i < rank_of_b; ++i) of_b += static_cast<char>('A' + i);
  if (axes_of_a.size() != axes_of_b.size())
    throw error("tensordot over {} and {} axes", axes_of_a.size(), axes_of_b.size());
  for (std::size_t i = 0; i < axes_of_a.size(); ++i)
    of_b[static_cast<std::size_t>(normalize_axis(axes_of_b[i], rank_of_b))] =
        of_a[static_cast<std::size_t>(normalize_axis(axes_of_a[i], rank_of_a))];
  for (char c : of_a)
    if (of_b.find(c) == std::string::npos) result += c;
  for (char c : of_b)
    if (of_a.find(c) == std::string::npos) result += c;
  return of_a + "," + of_b + "->" + result;
}

std::optional<std::pair<std::string, std::string>> einsum_of_view(std::string_view equation,
                                                                  std::size_t rank) {
  const std::string text = without_spaces(equation);
  const std::size_t arrow = text.find("->");
  const std::string term = text.substr(0, arrow);
  if (term.find(',') != std::string::npos) return std::nullopt;
  const std::string axes = named_axes(term, rank);
  const std::size_t ellipsis = term.find("...") == std::string::npos ? 0 : rank + 3 - term.size();
  const std::string result = arrow == std::string::npos
                                 ? implied_result(axes)
                                 : named_result(text.substr(arrow + 2), {Named{axes, {}}}, ellipsis);
  const bool is_summed =
      std::any_of(axes.begin(), axes.end(), [&](char c) { return result.find(c) == std::string::npos; });
  if (is_summed) return std::nullopt;
  return std::pair{axes, result};
}

}  // namespace tenon
