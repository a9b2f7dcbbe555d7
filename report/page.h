// The files of report/page/, as the build embeds them (cmake/Embed.cmake).
#pragma once
#include <string_view>

namespace tenon::page {

extern const std::string_view index_html, style_css;
extern const std::string_view model_js, layout_js, fold_js, graph_js, export_js, charts_js, table_js, main_js;

}  // namespace tenon::page
