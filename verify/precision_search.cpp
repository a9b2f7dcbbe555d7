#include "verify/precision_search.h"

#include <algorithm>
#include <numeric>

#include "base/progress.h"
#include "ir/clone.h"
#include "runtime/compare.h"
#include "runtime/session.h"

namespace tenon {
namespace {

constexpr int most_groups = 32;

class Trials {
 public:
  Trials(const FusionUnderTest& fusion, const std::vector<Inputs>& samples)
      : fusion_(fusion), samples_(samples) {
    FuseOptions exact = fusion.options;
    exact.precision = Precision::kept;
    expected_ = run(exact);
  }

  int products() const { return products_; }

  double error(std::vector<int> kept) {
    FuseOptions options = fusion_.options;
    options.kept_products = std::move(kept);
    const auto outputs = run(options);
    double worst = 0;
    for (std::size_t s = 0; s < outputs.size(); ++s)
      for (std::size_t i = 0; i < outputs[s].size(); ++i)
        worst = std::max(worst, compare(outputs[s][i], expected_[s][i]).relative());
    return worst;
  }

 private:
  std::vector<std::vector<Tensor>> run(const FuseOptions& options) {
    count_.step();
    std::shared_ptr<Graph> graph = clone(fusion_.imported);
    products_ = fuse(*graph, options, fusion_.passes).products;
    Session session(graph, {.threads = fusion_.threads, .device = &fusion_.device});
    std::vector<std::vector<Tensor>> outputs;
    for (const Inputs& sample : samples_) outputs.push_back(session.run(sample));
    return outputs;
  }

  const FusionUnderTest& fusion_;
  const std::vector<Inputs>& samples_;
  std::vector<std::vector<Tensor>> expected_;
  int products_ = 0;
  Count count_{"trials"};
};

// Some that follow one another.
struct Products {
  int begin, end;
  double error = 0;
};

std::vector<int> members(const std::vector<Products>& groups, std::size_t count) {
  std::vector<int> all;
  for (std::size_t g = 0; g < count; ++g)
    for (int p = groups[g].begin; p < groups[g].end; ++p) all.push_back(p);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<int> all_but(const Products& group, int products) {
  std::vector<int> kept;
  for (int p = 0; p < products; ++p)
    if (p < group.begin || p >= group.end) kept.push_back(p);
  return kept;
}

}  // namespace

PrecisionSearch search_precision(const FusionUnderTest& fusion, const std::vector<Inputs>& samples,
                                 double max_error) {
  Trials trials(fusion, samples);
  const double of_all = trials.error({});
  PrecisionSearch found{.products = trials.products(), .of_all = of_all, .error = of_all};
  if (of_all <= max_error) return found;
  const int size = (found.products + most_groups - 1) / most_groups;
  std::vector<Products> groups;
  for (int begin = 0; begin < found.products; begin += size) {
    Products group{begin, std::min(begin + size, found.products)};
    group.error = trials.error(all_but(group, found.products));
    groups.push_back(group);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Products& a, const Products& b) { return a.error > b.error; });
  std::size_t too_few = 0, enough = groups.size();  // groups that stay
  found.kept = members(groups, enough);
  found.error = 0;
  while (enough - too_few > 1) {
    const std::size_t middle = (too_few + enough) / 2;
    const double error = trials.error(members(groups, middle));
    if (error > max_error) {
      too_few = middle;
    } else {
      enough = middle;
      found.kept = members(groups, middle);
      found.error = error;
    }
  }
  return found;
}

}  // namespace tenon
