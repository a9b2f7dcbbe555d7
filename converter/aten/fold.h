// Columns of patches, and the image that they are summed into.
#pragma once
#include "converter/builder.h"
#include "ir/ops/rules.h"

namespace tenon::converter {

/// Of each spatial axis.
struct Folded {
  std::vector<Dim> size;  // of the image
  Axes kernel, dilation, stride, before, after;
};

/// Columns of patches [N, C * kernel..., patches] summed into an image [N, C, size...].
Ref columns_folded(Builder&, const Ref& columns, const Folded&);

}  // namespace tenon::converter
