#include "tests/kernels/planned_graphs.h"

#include <fmt/format.h>

namespace tenon::gpu {
namespace {

using List = std::vector<PlannedGraph>;

std::string sorts(std::string_view type, std::string_view call, std::string_view after = "") {
  return fmt::format("(%x: {0}) {{ %1, %2 = {1}(%x, {2}) return %1, %2 }}", type, call, after);
}

// A GPU looks at divisors that are computed; here none is zero.
constexpr std::string_view divisor = "%m = mul(%y, %y) %d = add(%m, 1)";

// Products that compute their left side.
void add_prologues(List& list) {
  for (const auto& [type, tolerance] : {std::pair{"f32", 2e-5}, {"f16", 2e-2}}) {
    list.push_back(
        {fmt::format("prologue of a matrix {}", type),
         fmt::format("(%x: {0}[2,35,70], %y: {0}[70]) {{ @w : {0}[90,70] %1 = fused {{ add(%x, %y); "
                     "relu }} : {0}[2,35,70] %2 = linear(%1, @w) return %2 }}",
                     type),
         Values::plain, tolerance});
    list.push_back(
        {fmt::format("prologue of windows {}", type),
         fmt::format("(%x: {0}[2,20,9,7], %y: {0}[1,20,1,1]) {{ @w : {0}[30,20,3,3] %1 = fused {{ "
                     "add(%x, %y); sigmoid }} : {0}[2,20,9,7] %2 = conv(%1, @w, stride=[2,1], pad=1) "
                     "return %2 }}",
                     type),
         Values::plain, tolerance});
  }
  list.push_back(
      {"prologue of quotients f32",
       fmt::format("(%x: i64[35,70], %y: i64[35,70]) {{ @w : f32[90,70] {} %1 = fused {{ floor_div(%x, %d); "
                   "cast }} : f32[35,70] %2 = linear(%1, @w) return %2 }}",
                   divisor),
       Values::plain, 2e-5});
}

void add_sorts(List& list) {
  const auto add = [&](std::string_view name, std::string_view type, std::string_view call,
                       std::string_view after) {
    list.push_back({fmt::format("sort {}", name), sorts(type, call, after), Values::ordered});
  };
  add("of one f32", "f32[1]", "sort", "axis=0");
  add("by ranks f32", "f32[5,70]", "sort", "axis=1");
  add("by ranks f16 descending", "f16[3,128]", "sort", "axis=1, descending=true");
  add("by ranks bool", "bool[9,33]", "sort", "axis=1");
  add("by ranks of columns i64", "i64[2,17,5]", "sort", "axis=1");
  add("in blocks bf16", "bf16[2,200]", "sort", "axis=1");
  add("in blocks f32", "f32[2,1000]", "sort", "axis=1, descending=true");
  add("in blocks of columns f64", "f64[300,3]", "sort", "axis=0");
  add("in passes f32", "f32[2,5000]", "sort", "axis=1");
  add("in passes i64", "i64[1,4097]", "sort", "axis=1, descending=true");
  add("first of short rows u8", "u8[4,60]", "topk", "k=5, axis=1");
  add("first of long rows f32", "f32[2,6000]", "topk", "k=900, axis=1");
  add("first of long rows i32", "i32[3,4500]", "topk", "k=9, axis=1, largest=false");
  add("first of long columns f16", "f16[5000,2]", "topk", "k=33, axis=0");
  add("mode f32", "f32[3,70]", "mode", "axis=1");
  add("mode of short columns i64", "i64[16,2]", "mode", "axis=0");
  add("mode in passes f16", "f16[2,4500]", "mode", "axis=1");
  for (const bool right : {false, true})
    list.push_back({fmt::format("sort search {}", right ? "right f16" : "left f32"),
                    fmt::format("(%x: {0}[3,40], %v: {0}[3,300]) {{ %1, %2 = sort(%x, axis=1) %3 = "
                                "search_sorted(%1, %v, right={1}) return %3 }}",
                                right ? "f16" : "f32", right),
                    Values::ordered});
}

void add_scans(List& list) {
  const auto add = [&](std::string_view name, std::string_view type, std::string_view call, int axis,
                       Values values = Values::plain, double tolerance = 0) {
    const bool places = call == "cummax" || call == "cummin";
    list.push_back({fmt::format("scan {}", name),
                    fmt::format("(%x: {0}) {{ %1{3} = {1}(%x, axis={2}) return %1{3} }}", type, call, axis,
                                places ? ", %2" : ""),
                    values, tolerance});
  };
  add("of one f32", "f32[1]", "cumsum", 0);
  add("rows of waves f32", "f32[9,70]", "cumsum", 1, Values::plain, 1e-5);
  add("rows of waves u8", "u8[3,200]", "cumsum", 1);
  add("rows of blocks f16", "f16[3,1025]", "cumsum", 1, Values::positive, 5e-3);
  add("rows in parts f32", "f32[2,9001]", "cumsum", 1, Values::plain, 1e-4);
  add("columns i32", "i32[3,17,40]", "cumsum", 1);
  add("columns in parts i64", "i64[200,5]", "cumsum", 0);
  add("products of rows f64", "f64[5,33]", "cumprod", 1, Values::positive);
  add("maxima of rows f16", "f16[5,70]", "cummax", 1, Values::ordered);
  add("maxima of rows in parts f32", "f32[1,8300]", "cummax", 1, Values::ordered);
  add("minima of columns f32", "f32[130,3]", "cummin", 0, Values::ordered);
  add("logsumexp of rows f32", "f32[3,600]", "logcumsumexp", 1, Values::plain, 1e-5);
}

void add_scatters(List& list) {
  const auto scatter = [&](std::string_view name, std::string_view dtype, std::string_view reduce,
                           double tolerance = 0) {
    list.push_back({fmt::format("scatter {}", name),
                    fmt::format("(%x: {0}[4,5,6], %i: i64[4,9,6], %y: {0}[4,9,6]) {{ %1 = scatter(%x, %i, "
                                "%y, axis=1, reduce=\"{1}\") return %1 }}",
                                dtype, reduce),
                    Values::plain, tolerance, 5});
  };
  scatter("the last f32", "f32", "none");
  scatter("the last bool", "bool", "none");
  scatter("sums f16", "f16", "sum", 5e-3);
  scatter("products i32", "i32", "prod");
  scatter("maxima f64", "f64", "amax");
  scatter("minima u8", "u8", "amin");
  scatter("means f32", "f32", "mean", 1e-5);
  scatter("means i64", "i64", "mean");
  list.push_back({"scatter many to few f32",
                  "(%x: f32[3], %i: i64[5000], %y: f32[5000]) { %1 = scatter(%x, %i, %y, axis=0, "
                  "reduce=\"sum\", include_self=false) return %1 }",
                  Values::plain, 1e-4, 3});
  list.push_back({"scatter one f32",
                  "(%x: f32[1], %i: i64[1], %y: f32[1]) { %1 = scatter(%x, %i, %y, axis=0) return %1 }",
                  Values::plain, 0, 1});
}

void add_sums_by_index(List& list) {
  const auto add = [&](std::string_view name, std::string_view text, double tolerance = 0) {
    list.push_back({fmt::format("index {}", name), std::string(text), Values::plain, tolerance});
  };
  add("add rows f32",
      "(%x: f32[11,33], %i: i64[200], %y: f32[200,33]) { %1 = index_add(%x, %i, %y) return %1 }", 1e-5);
  add("add pieces f16",
      "(%x: f16[9,64], %i: i32[20], %y: f16[20,64]) { %1 = index_add(%x, %i, %y) return %1 }", 5e-3);
  add("add along the middle i64",
      "(%x: i64[3,4,5], %i: i64[7], %y: i64[3,7,5]) { %1 = index_add(%x, %i, %y, axis=1) return %1 }");
  add("add many to a place f32",
      "(%x: f32[500,6], %i: i64[1500], %j: i64[1500], %y: f32[1500,6]) { %1 = mul(%i, 0) %2 = "
      "index_add(%x, %1, %y) %3 = index_add(%2, %j, %y) return %3 }",
      1e-4);
  add("weighted edges f32",
      "(%x: f32[9,20], %w: f32[300,1], %i: i64[300], %j: i64[300], %s: f32[50,20]) { %1 = fused { "
      "index_select(%x, %i); mul(_, %w); index_add(%s, %j, _) } : f32[50,20] return %1 }",
      1e-5);
  add("put rows f32",
      "(%x: f32[6,5], %v: f32[4,5], %i: i64[4]) { %1 = index_put(%x, %v, %i, axes=0) return %1 }");
  add("put sums f16",
      "(%x: f16[3,4,5], %v: f16[7,5], %i: i64[7], %j: i64[7]) { %1 = index_put(%x, %v, %i, %j, axes=[0,1], "
      "accumulate=true) return %1 }",
      5e-3);
  add("of several f32",
      "(%x: f32[3,4,5], %i: i64[7], %j: i64[2,1]) { %1 = index(%x, %i, %j, axes=[0,2]) return %1 }");
  add("gather rows f16", "(%x: f16[21,65], %i: i64[21,100]) { %1 = gather(%x, %i, axis=1) return %1 }");
  add("gather columns i64", "(%x: i64[21,65], %i: i32[30,65]) { %1 = gather(%x, %i, axis=0) return %1 }");
}

void add_functions(List& list) {
  const auto add = [&](std::string_view name, std::string_view types, std::string_view call, Values values,
                       double tolerance = 0) {
    list.push_back({fmt::format("pointwise {}", name),
                    fmt::format("({}) {{ %1 = {} return %1 }}", types, call), values, tolerance});
  };
  add("bessel f32", "%x: f32[1000]", "special(%x, function=\"bessel_j0\")", Values::ordered);
  add("airy f16", "%x: f16[3,90]", "special(%x, function=\"airy_ai\")", Values::plain);
  add("bessel k f64", "%x: f64[1]", "special(%x, function=\"k1e\")", Values::positive);
  add("trigamma bf16", "%x: bf16[300]", "special(%x, function=\"trigamma\")", Values::positive);
  add("quantiles f32", "%x: f32[257]", "special(%x, function=\"ndtri\")", Values::ordered);
  add("polynomials f32", "%x: f32[5,1], %y: f32[1,77]", "special(%x, %y, function=\"hermite_h\")",
      Values::plain, 1e-5);
  add("zeta f32", "%x: f32[300], %y: f32[300]", "special(%x, %y, function=\"zeta\")", Values::positive);
  add("incomplete gamma f64", "%x: f64[300], %y: f64[]", "special(%x, %y, function=\"gammainc\")",
      Values::positive);
  add("divisors i64", "%x: i64[40,1], %y: i64[1,30]", "gcd(%x, %y)", Values::plain);
  add("divisors u8", "%x: u8[300], %y: u8[300]", "gcd(%x, %y)", Values::plain);
}

void add_transforms(List& list) {
  const auto add = [&](std::string_view name, std::string_view type, bool inverse, double tolerance) {
    list.push_back({fmt::format("fft {}", name),
                    fmt::format("(%x: {0}, %y: {0}) {{ %1 = complex(%x, %y) %2 = fft(%1, inverse={1}) %3 = "
                                "real(%2) %4 = imag(%2) return %3, %4 }}",
                                type, inverse),
                    Values::plain, tolerance});
  };
  add("of one f32", "f32[1]", false, 1e-5);
  add("of powers of two f32", "f32[3,256]", false, 2e-5);
  add("of a prime f32", "f32[2,251]", true, 5e-5);
  add("of factors f64", "f64[2,360]", true, 1e-11);
  add("in memory f32", "f32[2,2100]", false, 2e-4);
  list.push_back({"bits f32",
                  "(%x: f32[4,6]) { %1 = permute(%x, axes=[1,0]) %2 = bitcast(%1, to=i16) %3 = slice(%2, "
                  "axis=0, start=1, end=5) return %3 }"});
}

void add_images(List& list) {
  const auto add = [&](std::string_view name, std::string_view text, double tolerance = 0) {
    list.push_back({std::string(name), std::string(text), Values::plain, tolerance});
  };
  for (const std::string_view mode : {"linear", "cubic"})
    add(fmt::format("resize {} f32", mode),
        fmt::format("(%x: f32[2,3,7,5]) {{ %1 = interpolate(%x, mode=\"{}\", output=[9,11]) return %1 }}",
                    mode),
        1e-5);
  add("resize linear f16",
      "(%x: f16[1,2,40]) { %1 = interpolate(%x, mode=\"linear\", output=[90]) return %1 }");
  add("resize nearest f32",
      "(%x: f32[2,3,7,5]) { %1 = interpolate(%x, mode=\"nearest\", output=[9,11]) return %1 }");
  for (const std::string_view dtype : {"f32", "f16"})
    add(fmt::format("pool places {}", dtype),
        fmt::format("(%x: {0}[2,5,9,8]) {{ %1 = max_pool(%x, kernel=3, stride=2, pad=1) %2, %3 = "
                    "max_pool_indices(%x, kernel=3, stride=2, pad=1) return %1, %2, %3 }}",
                    dtype));
  add("pool adaptive places f32",
      "(%x: f32[2,5,9,8]) { %1 = adaptive_max_pool(%x, output=[4,3]) %2, %3 = adaptive_max_pool_indices(%x, "
      "output=[4,3]) return %1, %2, %3 }");
  for (const std::string_view dtype : {"f32", "bf16"})
    add(fmt::format("pool of whole chunks {}", dtype),
        fmt::format(
            "(%x: {0}[2,16,70,70]) {{ %1 = permute(%x, axes=[0,2,3,1]) %2 = relu(%1) %3 = permute(%2, "
            "axes=[0,3,1,2]) %4 = max_pool(%3, kernel=3, stride=2, pad=1) return %4 }}",
            dtype));
  add("pool means f32",
      "(%x: f32[2,5,9,8]) { %1 = avg_pool(%x, kernel=2, stride=2) %2 = adaptive_avg_pool(%x, output=[3,1]) "
      "return %1, %2 }");
  for (const std::string_view dtype : {"f32", "f16"})
    add(fmt::format("convolution of 3 channels {}", dtype),
        fmt::format("(%x: {0}[1,3,21,19]) {{ @w : {0}[16,3,3,3] %1 = conv(%x, @w, pad=1, stride=2) %2 = "
                    "relu(%1) return %2 }}",
                    dtype),
        dtype == "f16" ? 5e-3 : 5e-5);
  add("convolution transposed in a plan f32",
      "(%x: f32[2,8,5,4]) { @w : f32[8,6,2,2] %1 = conv_transpose(%x, @w, stride=2) return %1 }", 5e-5);
}

// Convolutions whose groups have few channels.
void add_thin_convolutions(List& list) {
  const auto add = [&](std::string_view name, std::string_view x, std::string_view weight,
                       std::string_view call, double tolerance = 2e-5) {
    list.push_back({fmt::format("convolution {}", name),
                    fmt::format("(%x: {}) {{ @w : {} %1 = {} return %1 }}", x, weight, call), Values::plain,
                    tolerance});
  };
  for (const auto& [type, tolerance] : {std::pair{"f32", 2e-5}, {"f16", 1e-2}, {"bf16", 5e-2}}) {
    list.push_back(
        {fmt::format("convolution depthwise {}", type),
         fmt::format("(%x: {0}[2,40,9,7], %y: {0}[2,40,9,7]) {{ @w : {0}[40,1,3,3] @b : {0}[40] %1 "
                     "= fused {{ conv(%x, @w, @b, pad=1, groups=40); add(_, %y); relu }} : "
                     "{0}[2,40,9,7] return %1 }}",
                     type),
         Values::plain, tolerance});
    add(fmt::format("of thin groups {}", type), fmt::format("{}[2,16,6,7]", type),
        fmt::format("{}[32,4,3,3]", type), "conv(%x, @w, pad=1, stride=2, groups=4)", tolerance);
  }
  add("depthwise of odd channels f32", "f32[3,7,5,6]", "f32[7,1,5,5]", "conv(%x, @w, pad=2, groups=7)");
  add("depthwise dilated f32", "f32[1,8,11,12]", "f32[8,1,3,3]",
      "conv(%x, @w, pad=2, stride=[1,3], dilation=2, groups=8)");
  add("depthwise in one dimension f32", "f32[2,12,50]", "f32[24,1,4]", "conv(%x, @w, pad=1, groups=12)");
  add("depthwise in three dimensions f32", "f32[1,6,4,5,6]", "f32[6,1,2,3,9]",
      "conv(%x, @w, pad=[1,1,4], groups=6)");
  add("depthwise transposed f32", "f32[2,6,5,4]", "f32[6,2,3,3]",
      "conv_transpose(%x, @w, stride=2, pad=1, groups=6)");
  add("of thin transposed groups f64", "f64[1,6,5,4]", "f64[6,2,2,3]",
      "conv_transpose(%x, @w, stride=[1,2], groups=3)", 0);
  list.push_back(
      {"convolution depthwise and quotients f32",
       fmt::format(
           "(%x: f32[2,6,5,4], %y: i64[2,6,5,4]) {{ @w : f32[6,1,3,3] {} %1 = fused conv(%x, @w, "
           "pad=1, groups=6) {{ cast(_, to=i64); remainder(_, %d); cast }} : f32[2,6,5,4] return %1 }}",
           divisor),
       Values::plain, 2e-5});
  list.push_back({"convolution depthwise of computed weights f32",
                  "(%x: f32[2,6,5,4], %w: f32[12,1,3,3]) { %1 = conv(%x, %w, pad=1, groups=6) return %1 }",
                  Values::plain, 2e-5});
  list.push_back({"convolution of computed thin transposed groups f32",
                  "(%x: f32[2,6,5,4], %w: f32[6,2,2,3]) { %1 = conv_transpose(%x, %w, groups=3) return %1 }",
                  Values::plain, 2e-5});
}

// Convolutions whose input does not lie as its products read it.
void add_copied_convolutions(List& list) {
  const auto add = [&](std::string_view name, std::string_view x, std::string_view weight,
                       std::string_view call) {
    for (const auto& [type, tolerance] : {std::pair{"f32", 5e-5}, {"f16", 1e-2}})
      list.push_back(
          {fmt::format("convolution {} {}", name, type),
           fmt::format("(%x: {0}[{1}]) {{ @w : {0}[{2}] %1 = {3} return %1 }}", type, x, weight, call),
           Values::plain, tolerance});
  };
  add("of pixels of one image", "1,24,6,8", "20,24,1,1", "conv(%x, @w)");
  add("transposed of taps", "2,24,5,3", "24,12,2,3", "conv_transpose(%x, @w, stride=[2,3])");
  add("transposed of taps in three dimensions", "1,8,2,3,4", "8,8,2,1,2",
      "conv_transpose(%x, @w, stride=[2,1,2])");
  list.push_back({"convolution transposed of computed taps f32",
                  "(%x: f32[1,6,4,4], %w: f32[6,8,2,2]) { %1 = conv_transpose(%x, %w, stride=2) return %1 }",
                  Values::plain, 5e-5});
  add("of pixels of images", "3,24,6,8", "20,24,1,1", "conv(%x, @w)");
  add("of pixels of odd images", "3,5,7,3", "20,5,1,1", "conv(%x, @w)");
  add("of patches", "2,3,32,35", "24,3,8,8", "conv(%x, @w, stride=8)");
  add("of overlapping patches", "1,3,20,16", "24,3,8,8", "conv(%x, @w, stride=[4,8], pad=[2,0])");
  add("of patches in one dimension", "2,5,64", "24,5,16", "conv(%x, @w, stride=16)");
  add("of few channels", "1,3,64,64", "8,3,7,7", "conv(%x, @w, pad=3)");
  add("of many channels", "2,32,32,32", "8,32,3,3", "conv(%x, @w, pad=1)");
  list.push_back(
      {"convolution transposed of computed groups f32",
       "(%x: f32[1,64,16,16], %w: f32[64,32,2,2]) { %1 = conv_transpose(%x, %w, groups=2) return %1 }",
       Values::plain, 5e-5});
}

void add_others(List& list) {
  const auto add = [&](std::string_view name, std::string_view text, double tolerance = 0) {
    list.push_back({std::string(name), std::string(text), Values::plain, tolerance});
  };
  add("product split in parts f32", "(%x: f32[9,2000], %y: f32[2000,40]) { %1 = matmul(%x, %y) return %1 }",
      2e-4);
  add("product without depth f32",
      "(%x: f32[70,0], %w: f32[90,0], %z: f32[90]) { %1 = linear(%x, %w, %z) return %1 }");
  add("product of integers by codes", R"((%x: i32[5,160]) {
  @w : u8[160,70]
  @z : u8[70]
  %1 = cast(@w, to=i32) : i32[160,70]
  %2 = cast(@z, to=i32) : i32[70]
  %3 = sub(%1, %2) : i32[160,70]
  %4 = matmul(%x, %3) : i32[5,70]
  return %4
})");
  add("product of a layer f32",
      "(%x: f32[7,30]) { @w : f32[9,30] @b : f32[9] %1 = linear(%x, @w, @b) return %1 }", 5e-5);
  add("attention in a plan f32",
      "(%q: f32[1,2,5,16], %k: f32[1,2,9,16], %v: f32[1,2,9,16]) { %1 = attention(%q, %k, %v) return %1 }",
      2e-5);
  add("matrix solve and qr f64",
      "(%x: f64[2,9,9], %y: f64[2,9,4]) { %1 = solve(%x, %y) %2, %3 = qr(%x) return %1, %2, %3 }", 1e-9);
  add("copies concatenated",
      "(%x: f32[3,7], %y: f32[3,5]) { %1 = concat(%x, %y, axis=1) %2 = pad(%1, pads=[0,1,2,0]) return %2, %1 "
      "}");
  add("check f32",
      "(%x: f32[3]) { %1 = sum(%x, axes=[0]) %2 = less(%1, 1e30) check(%2, message=\"too large\") "
      "return %1 }");
  add("loop divided by a constant i64",
      "(%x: i64[300]) { %1 = remainder(%x, 7) %2 = floor_div(%x, -3) return %1, %2 }");
  add("loop divided by what is computed i64",
      fmt::format("(%x: i64[7,45], %y: i64[7,45]) {{ {} %1 = remainder(%x, %d) return %1 }}", divisor));
  add("product divided by what is computed i64",
      fmt::format("(%x: i64[33,20], %z: i64[20,70], %y: i64[33,70]) {{ {} %1 = fused matmul(%x, %z) {{ "
                  "floor_div(_, %d) }} : i64[33,70] return %1 }}",
                  divisor));
  for (const int bits : {24, 63})
    add(fmt::format("random numbers of {} bits", bits),
        fmt::format(
            "(%i: i64[]) {{ %1 = random_bits(%i, shape=[5,401], bits={}, stream=1, seed=-7) return %1 }}",
            bits));
  list.push_back(
      {"one hot i64", "(%i: i64[9,5]) { %1 = one_hot(%i, classes=7) return %1 }", Values::plain, 0, 7});
  list.push_back(
      {"one hot u8", "(%i: u8[300]) { %1 = one_hot(%i, classes=3) return %1 }", Values::plain, 0, 3});
}

}  // namespace

const std::vector<PlannedGraph>& planned_graphs() {
  static const List all = [] {
    List list;
    for (const auto add :
         {add_prologues, add_sorts, add_scans, add_scatters, add_sums_by_index, add_functions, add_transforms,
          add_images, add_thin_convolutions, add_copied_convolutions, add_others})
      add(list);
    return list;
  }();
  return all;
}

}  // namespace tenon::gpu
