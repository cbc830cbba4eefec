// HTML pages that need nothing from outside.
#pragma once

#include <string>

namespace minbert {

// A name as a link or a part of one: "a b#1" is a%20b%231. A colon would make it a protocol.
std::string address(const std::string& name);
// `content` in the place of {}; nothing where there is no content.
std::string element(const char* pattern, const std::string& content);
// A formula, as it stands in a line of its own. Elements of MathML, as <mi>x</mi>, are elements,
// without attributes but for <mo stretchy="false">; all else is text.
std::string formula(const std::string& mathml);
// The whole page; `style` is what it adds to the style of all pages, `body` what its <main> holds.
// It is forbidden to load anything, and to run anything but this script.
std::string html_page(const std::string& title, const std::string& style, const std::string& body,
                      const std::string& script = "");

}  // namespace minbert
