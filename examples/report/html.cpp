// Parts of HTML pages.
#include "report/html.h"

#include <cctype>

#include "minbert/error.h"

namespace minbert {

std::string address(const std::string& name) {
  constexpr const char* digits = "0123456789ABCDEF";
  std::string link;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("-._~/").find(c) != std::string_view::npos)
      link += c;
    else link += {'%', digits[byte / 16], digits[byte % 16]};
  }
  return link;
}

std::string element(const char* pattern, const std::string& content) {
  return content.empty() ? "" : formatted(pattern, content);
}

std::string html_page(const std::string& title, const std::string& style, const std::string& body,
                      const std::string& script) {
  return formatted(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n{}</body>\n</html>\n",
      script.empty() ? "" : "; script-src 'unsafe-inline'", title, style, body,
      element("<script>{}</script>\n", script));
}

}  // namespace minbert
