#include "report/html.h"

#include <string_view>

#include "report/page.h"

namespace tenon {
namespace {

void put(std::string& text, std::string_view mark, std::string_view content) {
  const std::size_t at = text.find(mark);
  text.replace(at, mark.size(), content);
}

// As text inside <script>: "</script>" and "<!--" cannot occur. Bytes that are no UTF-8 are replaced.
std::string embedded(const nlohmann::ordered_json& json) {
  std::string text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

std::string html(const nlohmann::ordered_json& model, const nlohmann::ordered_json& profile) {
  std::string text(page::index_html);
  std::string script;
  for (const std::string_view part : {page::model_js, page::layout_js, page::fold_js, page::graph_js,
                                      page::export_js, page::charts_js, page::table_js, page::main_js})
    script += part;
  put(text, "@style@", page::style_css);
  put(text, "@script@", script);
  put(text, "@data@", embedded({{"model", model}, {"profile", profile}}));
  return text;
}

}  // namespace tenon
