#include "fusion/moved_elements.h"

#include "ir/ops/index.h"
#include "ir/ops/shape.h"

namespace tenon {

bool moves_elements(const Node& n) {
  return n.is<Reshape>() || n.is<Permute>() || n.is<Slice>() || n.is<Expand>() || n.is<Concat>() ||
         n.is<Flip>() || n.is<IndexSelect>() || n.is<Gather>();
}

}  // namespace tenon
