// The files of byte-level BPE: vocab.json and merges.txt, or tokenizer.json, and their letters.
#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>

#include "engine/names.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "pieces.h"
#include "text/lines.h"
#include "unicode.h"

namespace minbert {
namespace {

// 0x21 to 0x7E, 0xA1 to 0xAC and 0xAE to 0xFF are themselves; the others are U+0100, U+0101, ... in
// their order.
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
    MB_CHECK(id >= 0 && id < int64_t(tokens.size()),
             "{}: \"{}\" has the id {}, but there are {} tokens; their ids are "
             "0 to {}, without holes",
             file, token, id, tokens.size(), tokens.size() - 1);
    const std::string*& slot = tokens[size_t(id)];
    MB_CHECK(!slot, "{}: \"{}\" and \"{}\" both have the id {}; each token has its own", file,
             *slot, token, id);
    slot = &token;
  }
  std::vector<std::string> by_id;
  for (const std::string* token : tokens) by_id.push_back(*token);
  return TokenTable(std::move(by_id), file);
}

// A merge is two pieces with a space between them. where: file and line, for messages.
void add_merge(const std::string& where, const std::string& line, const TokenTable& table,
               Merges& merges) {
  const size_t space = line.find(' ');
  MB_CHECK(space != line.npos && space > 0 && space + 1 < line.size() &&
               line.find(' ', space + 1) == line.npos,
           "{}: expected two pieces with a space between them, not \"{}\"", where, line);
  const std::string left = line.substr(0, space), right = line.substr(space + 1);
  for (const std::string& piece : {left, right, left + right})
    MB_CHECK(table.find(piece) >= 0,
             "{}: joins \"{}\" and \"{}\", but the vocabulary has no token \"{}\"; are the "
             "merges and the vocabulary of one model?",
             where, left, right, piece);
  merges.emplace_back(table.find(left), table.find(right));
}

// Only the first line can be a comment: later merges may begin with #.
Merges read_merges(const std::string& file, const TokenTable& table) {
  const std::string text = read_file(file);
  Merges merges;
  size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = without_end(take_line(rest));
    if (++number > 1 || !line.starts_with("#version"))
      add_merge(formatted("{}:{}", file, number), std::string(line), table, merges);
  }
  return merges;
}

// What else in a tokenizer.json changes ids, and the value that RoBERTa's has; but for the types it
// holds also without the key. "truncation" and "padding" are not read: they belong to whoever calls
// the tokenizer.
void check_settings(const std::string& file, const Json& all) {
  static const std::vector<std::tuple<const char*, const char*, Json>> settings = {
      {"normalizer", "type", Json()},         {"model", "type", "BPE"},
      {"model", "dropout", 0.0},              {"model", "continuing_subword_prefix", ""},
      {"model", "end_of_word_suffix", ""},    {"model", "ignore_merges", false},
      {"pre_tokenizer", "type", "ByteLevel"}, {"pre_tokenizer", "use_regex", true},
      {"post_processor", "type", "RobertaProcessing"}};
  for (const auto& [part, key, ours] : settings) {
    const Json value = all.has(part) && all[part].has(key) ? all[part][key] : Json();
    const bool by_default = value.is_null() && std::string_view(key) != "type";
    MB_CHECK(by_default || value.dump() == ours.dump(),
             "{}: \"{}.{}\" is {}; only {} is supported here, as RoBERTa has it", file, part, key,
             value.dump(-1), ours.dump(-1));
  }
}

// vocab.json and merges.txt in one file.
std::shared_ptr<const Pieces> load_tokenizer_json(const std::string& file, const Json& config) {
  const Json all = Json::load(file), model = all["model"];
  check_settings(file, all);
  Json ids = model["vocab"];
  std::vector<std::string> special(bpe_kind.special.begin(), bpe_kind.special.end());
  for (const Json& token : all["added_tokens"].items()) {
    const std::string name = token["content"].string();
    MB_CHECK(std::erase(special, name) == 1,
             "{}: \"added_tokens\" has {}; only the special tokens of a {} are "
             "supported here, each once",
             file, name, bpe_kind.model);
    ids.set(name, token["id"].integer());
  }
  MB_CHECK(
      special.empty(),
      "{}: \"added_tokens\" has no {}, so a text that contains it would cut it to pieces; only a "
      "{}'s are supported here",
      file, joined(special), bpe_kind.model);
  TokenTable table = read_vocabulary(file, ids);
  Merges merges;
  for (const Json& merge : model["merges"].items()) {          // "a b", in newer files ["a", "b"]
    const bool is_array = merge.dump(-1).starts_with('[');
    const Json::Array two = is_array ? merge.items() : Json::Array();
    const std::string line =
        two.size() == 2 ? two[0].string() + " " + two[1].string() : merge.string();
    add_merge(formatted("{}: merge {}", file, merges.size() + 1), line, table, merges);
  }
  const bool add_prefix_space = all["pre_tokenizer"].get("add_prefix_space", false);
  return byte_level_bpe(file, std::move(table), std::move(merges),
                        config.get("add_prefix_space", add_prefix_space));
}

}  // namespace

std::shared_ptr<const Pieces> load_bpe(const std::string& folder) {
  const auto has = [&](const char* name) { return std::filesystem::exists(folder + name); };
  const std::string vocabulary = folder + "/vocab.json";
  const Json config = has("/tokenizer_config.json") ? Json::load(folder + "/tokenizer_config.json")
                                                    : Json::object();
  if (!has("/vocab.json") && has("/tokenizer.json"))
    return load_tokenizer_json(folder + "/tokenizer.json", config);
  TokenTable table = read_vocabulary(vocabulary, Json::load(vocabulary));
  Merges merges = read_merges(folder + "/merges.txt", table);
  return byte_level_bpe(vocabulary, std::move(table), std::move(merges),
                        config.get("add_prefix_space", false));
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
