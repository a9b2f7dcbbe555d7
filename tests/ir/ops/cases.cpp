#include "tests/ir/ops/cases.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "ir/string_tensor.h"

namespace tenon::test {

namespace {
// Elements of strings, between bars.
Tensor string_elements(const Type& type, std::string text) {
  std::vector<std::string> elements;
  const Index shape = eval(type.shape, {});
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    const std::size_t bar = std::min(text.find('|'), text.size());
    elements.push_back(text.substr(0, bar));
    text.erase(0, bar + 1);
  }
  EXPECT_EQ(text, "");
  return string_tensor(shape, elements);
}
}  // namespace

Tensor tensor(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  const Type type = Type::parse(word);
  if (is_string(type.dtype))
    return string_elements(type, text.substr(std::min(word.size() + 1, text.size())));
  Tensor t = Tensor::empty(type.dtype, eval(type.shape, {}));
  std::vector<double> values;
  while (words >> word) values.push_back(std::stod(word));
  std::size_t at = 0;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> i) {
    t.set_double(i, values.size() == 1 ? values[0] : values.at(at));
    ++at;
  });
  EXPECT_TRUE(values.size() == 1 || values.size() == at) << text;
  return t;
}

std::unique_ptr<Graph> graph_of(const std::string& call, const std::vector<std::string>& operands,
                                const std::vector<std::string>& results) {
  const auto type = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  std::vector<std::string> parameters, names, types;
  for (const std::string& operand : operands)
    parameters.push_back(fmt::format("%p{}: {}", parameters.size(), type(operand)));
  for (const std::string& result : results) {
    names.push_back(fmt::format("%r{}", names.size()));
    types.push_back(type(result));
  }
  std::string renamed;
  for (const char c : call) renamed += c == '%' ? std::string("%p") : std::string(1, c);
  return parse(fmt::format("graph t({}) {{\n  {} = {} : {}\n  return {}\n}}\n", fmt::join(parameters, ", "),
                           fmt::join(names, ", "), renamed, fmt::join(types, ", "), fmt::join(names, ", ")));
}

std::string error_of(const std::string& call, const std::vector<std::string>& operands,
                     const std::vector<std::string>& results) {
  try {
    graph_of(call, operands, results);
    return "";
  } catch (const Error& e) { return e.message(); }
}

std::vector<Tensor> run(const std::string& call, const std::vector<std::string>& operands,
                        const std::vector<std::string>& results) {
  std::vector<Tensor> inputs;
  for (const std::string& text : operands) inputs.push_back(tensor(text));
  return evaluate(*graph_of(call, operands, results), inputs);
}

void expect_near(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.type_string(), expected.type_string()) << what;
  if (is_string(expected.dtype())) {
    EXPECT_EQ(texts_of(actual), texts_of(expected)) << what;
    return;
  }
  for_each_index(expected.shape(), [&](std::span<const std::int64_t> i) {
    const double a = actual.get_double(i), e = expected.get_double(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) return;
    EXPECT_LE(std::fabs(a - e), tolerance * (1 + std::fabs(e)))
        << what << " at [" << fmt::format("{}", fmt::join(i, ",")) << "]: " << a << " is not " << e;
  });
}

void expect_all(const std::vector<Case>& cases, double tolerance) {
  for (const Case& c : cases) {
    try {
      const auto outputs = run(c.call, c.operands, c.expected);
      for (std::size_t i = 0; i < c.expected.size(); ++i)
        expect_near(outputs[i], tensor(c.expected[i]), tolerance, c.call);
    } catch (const Error& e) { ADD_FAILURE() << c.call << ": " << e.message(); }
  }
}

}  // namespace tenon::test
