// Repetition along axes.
#pragma once
#include <vector>

#include "ir/build.h"

namespace tenon {

/// x so often along each axis; with fewer counts than axes they are those of the last axes, with more x gets
/// axes in front.
Ref repeated(const Ref& x, std::vector<Dim> repeats);

}  // namespace tenon
