// WordPiece: cuts each word from left to right into the longest pieces that the vocabulary has.
//
//   Papers   Google's Neural Machine Translation System, Wu et al. 2016, sec. 4.1 (word pieces)
//            BERT, Devlin et al. 2019, sec. 3
//   Steps    special and other added tokens written in the text stay whole
//            clean-up, a space around each Chinese character; uncased: NFD, no accents, lower case
//            words; each punctuation character is a word
//            longest match first; [UNK] for a word over 100 characters or with an unknown piece
//
// One hash table holds all pieces. The hash of a string extends that of its prefix by one byte, so
// one pass over the word gives the hashes of all candidates; for pieces after the first, it starts
// from the hash of "##".

#include "minbert/error.h"
#include "minbert/files.h"
#include "text/lines.h"
#include "text/pieces.h"
#include "text/words.h"

namespace minbert {

// The lines of a vocabulary file, without trailing blanks (CRLF files), a byte order mark and empty
// lines at its end.
std::vector<std::string> read_tokens(const std::string& file) {
  const std::string text = read_file(file);
  std::string_view rest = text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  std::vector<std::string> tokens;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::string_view token = line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
    const size_t number = tokens.size() + 1;
    if (token.empty() && rest.find_first_not_of(" \t\r\n") == rest.npos) break;
    MB_CHECK(!token.empty(),
             "{}:{}: the line is empty; expected one token a line\n"
             "a token's id is its line number: restore what stood here, or later ids change",
             file, number);
    MB_CHECK(is_utf8(token), "{}:{}: the token is not UTF-8; save the file in that encoding", file,
             number);
    tokens.emplace_back(token);
  }
  return tokens;
}

namespace {

class WordPiece : public Pieces {
 public:
  WordPiece(Vocabulary vocabulary, const Cleaning& clean_up)
      : Pieces(word_piece_kind, std::move(vocabulary), clean_up),
        is_piece_(table.tokens().size(), true) {
    for (const AddedToken& token : added) is_piece_[size_t(token.id)] = token.piece;
  }
  std::string decode(std::span<const int32_t> ids) const override;
  std::map<std::string, std::string> files() const override;
  Json settings() const override;

 private:
  void encode_clean(std::string_view text, std::vector<int32_t>& ids) const override {
    for_each_clean_word(text, [&](std::string_view word) { encode_word(word, ids); });
  }
  void encode_word(std::string_view word, std::vector<int32_t>& ids) const;
  int32_t find_piece(uint32_t hash, std::string_view prefix, std::string_view rest) const {
    const int32_t id = table.find(hash, prefix, rest);
    return id < 0 || is_piece_[size_t(id)] ? id : -1;
  }

  std::vector<bool> is_piece_;                     // by id: not added tokens alone
};

void WordPiece::encode_word(std::string_view word, std::vector<int32_t>& ids) const {
  const int32_t unk = special[1];
  if (is_too_long(word)) return ids.push_back(unk);
  std::array<uint32_t, 4 * longest_word + 1> hashes;     // of the prefixes of `rest`
  const size_t before = ids.size();
  for (size_t begin = 0; begin < word.size();) {
    const std::string_view prefix = begin == 0 ? "" : continues;
    const std::string_view rest = word.substr(begin, table.longest());
    hashes[0] = begin == 0 ? empty_hash : hash_of(continues);
    for (size_t n = 0; n < rest.size(); ++n) hashes[n + 1] = extend(hashes[n], rest[n]);

    int32_t piece = -1;
    size_t n = rest.size();
    while (n > 0 && (piece = find_piece(hashes[n], prefix, rest.substr(0, n))) < 0) --n;
    if (piece < 0) {
      ids.resize(before);
      return ids.push_back(unk);
    }
    ids.push_back(piece);
    begin += n;
  }
}

std::string WordPiece::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    const std::string_view token = table.tokens()[size_t(id)];
    if (kind.continues_word(token)) text += token.substr(continues.size());
    else text.append(text.empty() ? "" : " ").append(token);
  }
  return text;
}

std::map<std::string, std::string> WordPiece::files() const {
  size_t size = is_piece_.size();                  // added tokens at the end are not in it
  while (size > 0 && !is_piece_[size - 1]) --size;
  std::string lines;
  for (size_t id = 0; id < size; ++id) lines += table.tokens()[id] + '\n';
  return {{"vocab.txt", lines}};
}

Json WordPiece::settings() const {
  Json all = Json::object().set("do_lower_case", cleaning->lower_case);
  if (cleaning->strip_accents != cleaning->lower_case)
    all.set("strip_accents", cleaning->strip_accents);
  if (!cleaning->chinese_apart) all.set("tokenize_chinese_chars", false);
  return all;
}

}  // namespace

std::shared_ptr<const Pieces> word_piece(Vocabulary vocabulary, const Cleaning& cleaning) {
  return std::make_shared<WordPiece>(std::move(vocabulary), cleaning);
}

}  // namespace minbert
