#include "compose/repeat.h"

#include "ir/ops/functions.h"

namespace tenon {

Ref repeated(const Ref& x, std::vector<Dim> repeats) {
  while (repeats.size() < x.rank()) repeats.insert(repeats.begin(), Dim(1));
  Shape from(repeats.size() - x.rank(), Dim(1));
  from.insert(from.end(), x.shape().begin(), x.shape().end());
  Shape single, wide, result;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    single.push_back(Dim(1));
    single.push_back(from[i]);
    wide.push_back(repeats[i]);
    wide.push_back(from[i]);
    result.push_back(repeats[i] * from[i]);
  }
  return reshape(expand(reshape(x, single), wide), result);
}

}  // namespace tenon
