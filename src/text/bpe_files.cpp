// The files of byte-level BPE: vocab.json and merges.txt, or tokenizer.json, and their letters.
#include <algorithm>
#include <array>
#include <filesystem>

#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "pieces.h"
#include "unicode.h"

namespace minbert {
namespace {

// 0x21 to 0x7E, 0xA1 to 0xAC and 0xAE to 0xFF are themselves; the others are U+0100, U+0101, ... in their order.
constexpr std::array letters = [] {
  std::array<int32_t, 256> all{};
  int32_t next = 256;
  for (int32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    all[size_t(byte)] = printable ? byte : next++;
  }
  return all;
}();

TokenTable read_vocabulary(const std::string& file, const Json& ids) {
  const std::map<std::string, Json> members = ids.members();
  std::vector<const std::string*> tokens(members.size());
  for (const auto& [token, value] : members) {
    const int64_t id = value.integer();
    MB_CHECK(id >= 0 && id < int64_t(tokens.size()), "{}: \"{}\" has the id {}, but there are {} tokens; their ids are "
             "0 to {}, without holes", file, token, id, tokens.size(), tokens.size() - 1);
    const std::string*& place = tokens[size_t(id)];
    MB_CHECK(!place, "{}: \"{}\" and \"{}\" both have the id {}; each token has its own", file, *place, token, id);
    place = &token;
  }
  TokenTable table(tokens.size());
  for (const std::string* token : tokens) table.add(*token);
  return table;
}

// A merge is two pieces with a space between them. where: file and line, for messages.
void add_merge(const std::string& where, const std::string& line, const TokenTable& table, Merges& merges) {
  const size_t space = line.find(' ');
  MB_CHECK(space != line.npos && space > 0 && space + 1 < line.size() && line.find(' ', space + 1) == line.npos,
           "{}: expected two pieces with a space between them, not \"{}\"", where, line);
  const std::string left = line.substr(0, space), right = line.substr(space + 1);
  for (const std::string& piece : {left, right, left + right})
    MB_CHECK(table.find(piece) >= 0, "{}: joins \"{}\" and \"{}\", but the vocabulary has no token \"{}\"; are the "
             "merges and the vocabulary of one model?", where, left, right, piece);
  merges.emplace_back(table.find(left), table.find(right));
}

// Only the first line can be a comment: later merges may begin with #.
Merges read_merges(const std::string& file, const TokenTable& table) {
  const std::string text = read_file(file);
  Merges merges;
  size_t number = 0;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (++number > 1 || !line.starts_with("#version")) add_merge(format("{}:{}", file, number), line, table, merges);
  }
  return merges;
}

// vocab.json and merges.txt in one file.
std::shared_ptr<const Pieces> load_tokenizer_json(const std::string& file, std::optional<bool> add_prefix_space) {
  const Json all = Json::load(file), model = all["model"], cut = all["pre_tokenizer"];
  const auto expect = [&](const Json& part, const std::string& key, const std::string& ours) {
    const std::string theirs = part.get<std::string>(key, "");
    MB_CHECK(theirs == ours, "{}: {} is \"{}\"; only \"{}\" is supported here", file, key, theirs, ours);
  };
  expect(model, "type", "BPE");
  expect(cut, "type", "ByteLevel");
  MB_CHECK(!all.has("normalizer") || all["normalizer"].is_null(), "{}: changes the text before it is cut "
           "(\"normalizer\"); byte-level BPE keeps all bytes", file);
  MB_CHECK(cut.get("use_regex", true), "{}: \"use_regex\" is false; only GPT-2's words are supported here", file);
  Json ids = model["vocab"];
  for (const Json& token : all["added_tokens"].items()) {
    const std::string name = token["content"].string();
    MB_CHECK(std::ranges::count(bpe_kind.special, name), "{}: \"added_tokens\" has {}; only the special tokens of a {} "
             "are supported here", file, name, bpe_kind.model);
    MB_CHECK(token.get("lstrip", name == "<mask>") == (name == "<mask>"), "{}: \"lstrip\" of {}; <mask> takes the "
             "space before it here, and no other token", file, name);
    ids.set(name, token["id"].integer());
  }
  TokenTable table = read_vocabulary(file, ids);
  Merges merges;
  for (const Json& merge : model["merges"].items()) {          // "a b", in newer files ["a", "b"]
    const bool is_array = merge.dump(-1).starts_with('[');
    const Json::Array two = is_array ? merge.items() : Json::Array();
    const std::string line = two.size() == 2 ? two[0].string() + " " + two[1].string() : merge.string();
    add_merge(format("{}: merge {}", file, merges.size() + 1), line, table, merges);
  }
  return byte_level_bpe(file, std::move(table), std::move(merges),
                        add_prefix_space.value_or(cut.get("add_prefix_space", false)));
}

}  // namespace

std::shared_ptr<const Pieces> load_bpe(const std::string& folder) {
  const std::string config = folder + "/tokenizer_config.json", vocabulary = folder + "/vocab.json";
  std::optional<bool> add_prefix_space;
  if (std::filesystem::exists(config)) {
    const Json settings = Json::load(config);
    if (settings.has("add_prefix_space") && !settings["add_prefix_space"].is_null())
      add_prefix_space = settings["add_prefix_space"].boolean();
  }
  const std::string one_file = folder + "/tokenizer.json";
  if (!std::filesystem::exists(vocabulary) && std::filesystem::exists(one_file))
    return load_tokenizer_json(one_file, add_prefix_space);
  TokenTable table = read_vocabulary(vocabulary, Json::load(vocabulary));
  Merges merges = read_merges(folder + "/merges.txt", table);
  return byte_level_bpe(vocabulary, std::move(table), std::move(merges), add_prefix_space.value_or(false));
}

std::string to_letters(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(text, letters[uint8_t(byte)]);
  return text;
}

std::string from_letters(std::string_view text) {
  std::string bytes;
  for (size_t pos = 0; pos < text.size();) {
    const auto* const letter = std::ranges::find(letters, next_code_point(text, pos));
    if (letter == letters.end()) return std::string(text);
    bytes += char(letter - letters.begin());
  }
  return bytes;
}

}  // namespace minbert
