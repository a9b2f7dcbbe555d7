// Packed sequences: the rows of sequences of several lengths, step by step, without the padding.
#pragma once
#include "converter/builder.h"

namespace tenon::converter {

/// Which rows of a padded [steps, batch, ...] are there. Sequences are sorted, the longest first, so that
/// step t has the first sizes[t] of them.
class PackedPlaces {
 public:
  /// sizes: i64[steps].
  PackedPlaces(Builder&, const Ref& sizes, const Dim& batch);

  /// bool[steps, batch]
  const Ref& active() const { return active_; }
  /// [rows, ...] as [steps, batch, ...]; what is not there holds any of the rows.
  Ref padded(const Ref& data) const;
  /// [steps, batch, ...] as [rows, ...].
  Ref packed(const Ref& padded) const;

 private:
  Builder& build_;
  Ref active_, rows_;
};

}  // namespace tenon::converter
