// Matrix units are proven before a product is computed on them: what a driver or a compiler makes of their
// instructions is seen on the machine at hand.
#pragma once
#include <string>
#include <string_view>

#include "kernels/gpu/matrix_unit.h"
#include "runtime/gpu/driver.h"

namespace tenon::gpu {

class Gpu;

/// "wgmma f16", "mma.sync f32", and of AMD's devices "f16".
std::string name_of(Vendor vendor, MatrixUnit unit);
/// The units that kernels take on this GPU. Of AMD's some have MFMA, some WMMA, and some none: the kernels
/// know, and where there is none, it is the ordinary units that are proven; float8 is one only where it is
/// there, since float16's would be next.
MatrixUnits units_of(const Gpu& gpu);

/// Computes small products of whole numbers on the unit, by the kernels that models take. What is wrong with
/// it: "gives 0 where 12 is right", the compiler's or the driver's message; empty: nothing. Takes as long as
/// its kernels take to compile. Throws Error where a compiler or a device does not work: that proves nothing.
std::string prove(Gpu& gpu, MatrixUnit unit);
/// The same, or what an earlier run of this program found with this device, driver, compiler and kernels.
std::string proven_before(Gpu& gpu, MatrixUnit unit);
/// The same as prove(), which later runs find instead of what earlier ones found.
std::string prove_again(Gpu& gpu, MatrixUnit unit);

/// The units of `wanted` that the GPU has, and that nothing is wrong with.
MatrixUnits proven(Gpu& gpu, MatrixUnits wanted);

}  // namespace tenon::gpu
