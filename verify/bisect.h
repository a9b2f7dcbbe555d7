// Where a model's results part: conversion, fusion and kernels searched in turn, on many samples.
#pragma once
#include "pipeline/model.h"
#include "verify/search.h"

namespace tenon {

struct BisectOptions {
  Tolerance tolerance = {};
  std::string method = "forward";
  TorchRunner* torch = nullptr;  // null: the conversion is assumed to be correct
  const Device& device = cpu_device();
  int threads = 1;
  std::function<void(std::string_view)> progress = [](std::string_view) {};
};

struct Bisection {
  std::optional<Divergence> first;
  std::vector<Divergence> largest;   // of each stage and sample that was searched, when there is no first
  std::optional<Divergence> silent;  // the first value of which nothing could be compared

  explicit operator bool() const { return first.has_value(); }
  const Divergence* operator->() const { return &*first; }
};

/// The first wrong value of the first sample that has one. An artifact holds no imported graph: only its
/// kernels are searched.
Bisection bisect(const Model&, const std::vector<Inputs>& samples, const BisectOptions& = {});

}  // namespace tenon
