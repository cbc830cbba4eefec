// Byte-level BPE: joins the bytes of each word, pair after pair, in the order in which training
// found the pairs.
//
//   Papers   Neural Machine Translation of Rare Words with Subword Units,
//            Sennrich et al. 2016, sec. 3.2 (joins)
//            Language Models are Unsupervised Multitask Learners,
//            Radford et al. 2019, sec. 2.2 (bytes, words)
//   Steps    special and other added tokens written in the text stay whole; <mask> takes the white
//            space before it
//            words by GPT-2's pattern (words.h)
//            the bytes of a word are its first pieces; the pair that stands first among the merges
//            is joined, of several occurrences the leftmost, until no pair of neighbours is a merge
//   Letters  in the files each byte is a printable character: itself, or U+0100 + n (Ġ is a space)
//
// Deviation: a byte that the vocabulary lacks is <unk>, as in Hugging Face's Python code; its Rust
// code drops it.
#include <atomic>
#include <queue>
#include <unordered_map>

#include "minbert/error.h"
#include "minbert/json.h"
#include "text/pieces.h"
#include "text/words.h"

namespace minbert {
namespace {

constexpr size_t unk = 1;                          // its index in TokenizerKind::special
constexpr size_t remembered_words = 1 << 16, longest_remembered = 64;      // bytes

uint64_t key_of(int32_t left, int32_t right) { return uint64_t(left) << 32 | uint32_t(right); }

class Bpe : public Pieces {
 public:
  Bpe(Vocabulary vocabulary, Merges merges, bool add_prefix_space);
  std::string decode(std::span<const int32_t> ids) const override;
  std::map<std::string, std::string> files() const override;
  Json settings() const override {
    return Json::object().set("add_prefix_space", add_prefix_space_);
  }

 private:
  void encode_clean(std::string_view text, std::vector<int32_t>& ids) const override;
  struct Merge {
    int32_t rank, joined;
  };
  void join(std::string_view word, std::vector<int32_t>& ids) const;
  void append_word(std::string_view word, std::vector<int32_t>& ids) const;

  bool add_prefix_space_;
  Merges merges_;                                  // by rank
  std::unordered_map<uint64_t, Merge> merge_of_;   // by key_of the two tokens
  std::array<int32_t, 256> bytes_;                 // the id of each byte
  uint64_t number_;                                // no two of a process have the same
};

Bpe::Bpe(Vocabulary vocabulary, Merges merges, bool add_prefix_space)
    : Pieces(bpe_kind, std::move(vocabulary)), add_prefix_space_(add_prefix_space),
      merges_(std::move(merges)) {
  static std::atomic<uint64_t> count = 0;
  number_ = ++count;
  for (size_t byte = 0; byte < bytes_.size(); ++byte) {
    bytes_[byte] = table.find(to_letters(std::string(1, char(byte))));
    if (bytes_[byte] < 0) bytes_[byte] = special[unk];
  }
  for (size_t rank = 0; rank < merges_.size(); ++rank) {
    const auto [left, right] = merges_[rank];
    const int32_t joined = table.find(table.tokens()[size_t(left)] + table.tokens()[size_t(right)]);
    merge_of_[key_of(left, right)] = {int32_t(rank), joined};
  }
}

// In O(n log n): a queue of the pairs that can be joined, and the pieces as a list of neighbours.
// An entry of the queue is out of date if one of its pieces has become part of another.
void Bpe::join(std::string_view word, std::vector<int32_t>& ids) const {
  struct Piece {
    int32_t id;                                    // -1: part of the piece before
    size_t before, after;                          // neighbours; word.size(): none
  };
  const size_t none = word.size();
  std::vector<Piece> pieces;
  for (size_t i = 0; i < none; ++i)
    pieces.push_back({bytes_[uint8_t(word[i])], i == 0 ? none : i - 1, i + 1});
  using Entry = std::pair<int32_t, size_t>;  // the rank of a merge, the index of its left piece
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto merge_at = [&](size_t i) -> const Merge* {  // of piece i and the next; nullptr: none
    if (i == none || pieces[i].id < 0 || pieces[i].after == none) return nullptr;
    const auto found = merge_of_.find(key_of(pieces[i].id, pieces[pieces[i].after].id));
    return found == merge_of_.end() ? nullptr : &found->second;
  };
  const auto add_to_queue = [&](size_t i) {
    if (const Merge* merge = merge_at(i)) queue.emplace(merge->rank, i);
  };
  for (size_t i = 0; i < none; ++i) add_to_queue(i);
  while (!queue.empty()) {
    const auto [rank, i] = queue.top();
    queue.pop();
    const Merge* const merge = merge_at(i);
    if (!merge || merge->rank != rank) continue;
    Piece& left = pieces[i];
    Piece& right = pieces[left.after];
    left = {merge->joined, left.before, right.after};
    right.id = -1;
    if (left.after != none) pieces[left.after].before = i;
    add_to_queue(left.before);
    add_to_queue(i);
  }
  for (size_t i = 0; i < none; i = pieces[i].after) ids.push_back(pieces[i].id);
}

// Each thread remembers words that it has met; a word replaces the last one with the same hash.
void Bpe::append_word(std::string_view word, std::vector<int32_t>& ids) const {
  struct Known {
    std::string word;
    std::vector<int32_t> ids;
  };
  thread_local uint64_t owner = 0;
  thread_local std::vector<Known> all;
  if (owner != number_) all.assign(remembered_words, {});
  owner = number_;
  if (word.size() > longest_remembered) return join(word, ids);
  Known& known = all[std::hash<std::string_view>()(word) % remembered_words];
  if (known.word != word) {
    known = {std::string(word), {}};
    join(word, known.ids);
  }
  ids.insert(ids.end(), known.ids.begin(), known.ids.end());
}

void Bpe::encode_clean(std::string_view text, std::vector<int32_t>& ids) const {
  const auto on_word = [&](std::string_view word) { append_word(word, ids); };
  if (add_prefix_space_ && text[0] != ' ') for_each_byte_word(" " + std::string(text), on_word);
  else for_each_byte_word(text, on_word);
}

std::string Bpe::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    const std::string& token = table.tokens()[size_t(id)];
    text += std::ranges::count(added, id, &AddedToken::id) ? token : from_letters(token);
  }
  return text;
}

std::map<std::string, std::string> Bpe::files() const {
  std::string vocabulary, lines = "#version: 0.2\n";
  for (size_t id = 0; id < table.tokens().size(); ++id)
    vocabulary += formatted("{}{}:{}", id == 0 ? "{" : ",", Json(table.tokens()[id]).dump(-1), id);
  for (const auto& [left, right] : merges_)
    lines += formatted("{} {}\n", table.tokens()[size_t(left)], table.tokens()[size_t(right)]);
  return {{"vocab.json", vocabulary + "}"}, {"merges.txt", lines}};
}

}  // namespace

std::shared_ptr<const Pieces> byte_level_bpe(Vocabulary vocabulary, Merges merges,
                                             bool add_prefix_space) {
  return std::make_shared<Bpe>(std::move(vocabulary), std::move(merges), add_prefix_space);
}

}  // namespace minbert
