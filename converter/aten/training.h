// The tables of what training steps hold: backward operators, and random numbers.
#pragma once
#include "converter/aten/table.h"

namespace tenon::converter {

std::span<const Entry> backward_entries();
std::span<const Entry> backward_loss_entries();
std::span<const Entry> backward_norm_entries();
std::span<const Entry> random_entries();

}  // namespace tenon::converter
