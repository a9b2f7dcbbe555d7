// What passes over data cost beside multiplications.
#pragma once

namespace tenon::cpu {

/// How much longer loads, stores and sums of vectors in the caches take, counted in multiplications, than on
/// a CPU of AVX2 or of AMD: Intel's AVX-512 multiplies twice as fast beside the same caches.
double pass_cost();

}  // namespace tenon::cpu
