// Whether something else takes the time of the machine that runs are timed on.
#pragma once
#include <memory>

#include "runtime/device.h"
#include "runtime/kept_json.h"

namespace tenon {

/// A product of a fraction of a millisecond, whose time is compared with its least of the last day, which is
/// kept (pulse.json beside what RooflineCache keeps). On shared machines it takes up to twice as long for
/// seconds or minutes, and so does all that runs meanwhile.
class Pulse {
 public:
  /// Takes a tenth of a second to learn what is usual.
  Pulse(const Device&, int threads);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  /// Milliseconds, of a few turns the least.
  double beat();
  /// Whether a beat of so many milliseconds was about as short as the least of all.
  bool is_calm(double ms) const { return ms < disturbed * least_; }

 private:
  static constexpr double disturbed = 1.1;
  struct Product;
  std::unique_ptr<Product> product_;
  KeptJson kept_;
  std::string key_;
  double least_;
  std::int64_t since_;  // when the least was taken, in seconds
};

}  // namespace tenon
