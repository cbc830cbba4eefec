// Parts of HTML pages that need no network and no script.
#pragma once

#include <string>

namespace minbert {

std::string escaped(const std::string& text);
// A name as a link or a part of one: "a b#1" is a%20b%231. A colon would make it a protocol.
std::string address(const std::string& name);
// `content` in the place of {}; nothing where there is no content.
std::string element(const char* pattern, const std::string& content);
// An <h2> that links to itself, as #NAME.
std::string heading(const std::string& name, const std::string& html);
// The <svg> element of a file, as a part of a page: without gnuplot's own titles, and with `prefix` before its ids and
// all references to them, since gnuplot's pictures share their ids. Nothing where there is none.
std::string inline_svg(const std::string& svg_file, const std::string& prefix);
// The whole page, with its style sheet; it is forbidden to load or run anything.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace minbert
