// Products whose sides are bytes from which a zero point is subtracted, or float8, on kernels that read
// these.
#pragma once
#include <optional>

#include "ir/graph.h"

namespace tenon {

struct Device;
class Group;

/// A value of 32-bit integers that is cast(bytes) - zero, or of float32 that is cast(float8).
struct CentredBytes {
  Value* bytes;  // i8, u8 or a float8
  Value* zero;   // one number; null: 0
  /// Of a value that a region computes: in terms of that region. nullopt where it is not computed so.
  static std::optional<CentredBytes> of(const Value* value);
};

/// Is it i8 or u8?
bool is_byte(DType);
/// The product among the members of a group whose result is float32 or whole numbers of 32 bits at most;
/// null: there is none, or there are others.
const Node* find_32_bit_product(const Group&);

/// Where the device multiplies bytes (Device::multiplies_bytes): products read the bytes, and their group
/// holds what makes 32-bit integers, or float32, of them. So these are not written to memory. A value that
/// others read, too, stays as it is, and so does float8 beside a side that is none.
void read_bytes(Graph& graph, const Device& device);

}  // namespace tenon
