// Writes the demo's data: small files in the course's formats, from templates, and their vocabulary.
//
//   make_demo_data --out DIR [--rows 300] [--seed 11711]
//
// Sentiment is polarity x intensity x negation; questions share intent and object, or miss one of the two;
// similarity is the share of meaning (who, what, where) that two sentences share. A part of it can be learned
// from single words, the rest only by comparing.
#include <cctype>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/random.h"
#include "minbert/tsv.h"

using namespace minbert;
using Words = std::vector<std::string>;

namespace {

struct Row {
  Words texts;
  std::string label;
};

template <class T>
const T& pick(Random& random, const std::vector<T>& from) {
  return from[random.below(from.size())];
}

// ---- Sentiment, 0..4

Row sentiment(Random& random) {
  static const Words good = {"good", "charming", "clever", "moving", "funny", "fresh"};
  static const Words bad = {"bad", "dull", "clumsy", "lazy", "boring", "stale"};
  static const Words neutral = {"average", "ordinary", "two hours long", "black and white", "set in Lisbon"};
  static const Words strong = {"very", "truly", "utterly"}, mild = {"rather", "mostly", "fairly"};
  static const Words subject = {"film", "story", "plot", "acting", "music", "script", "ending", "cast"};
  static const Words opening = {"The ", "In short, the ", "To my mind, the ", "As I see it, the "};

  const int label = int(random.below(5));
  const Words &right = label > 2 ? good : bad, &opposite = label > 2 ? bad : good;
  std::string phrase;
  if (label == 2) phrase = pick(random, neutral);
  else if (label == 0 || label == 4) phrase = pick(random, strong) + " " + pick(random, right);
  else if (random.below(3) == 0) phrase = "not " + pick(random, opposite);
  else phrase = pick(random, mild) + " " + pick(random, right);

  return {{pick(random, opening) + pick(random, subject) + " is " + phrase + " ."}, std::to_string(label)};
}

// ---- Questions: 1 for the same intent and object, else 0

Row question_pair(Random& random) {
  static const std::vector<Words> asked = {              // the phrases of each intent; # is the object
      {"How can I learn #?", "What is the best way to learn #?", "How do I get started with #?"},
      {"Where can I find a teacher of #?", "Who gives lessons in #?", "Is there a school for #?"}};
  static const std::vector<Words> missed = {
      {"Why do people give up #?", "Why is # so hard?"},
      {"How much money does # cost?", "What is the price of #?"},
      {"Who invented #?", "When did # begin?", "\"#\": what does it mean?"}};
  static const Words objects = {"chess", "painting", "sailing", "Latin", "cooking", "juggling", "carpentry"};

  const auto ask = [&](const Words& phrases, const std::string& object) {
    std::string question = pick(random, phrases);
    return question.replace(question.find('#'), 1, object);
  };
  const Words& intent = pick(random, asked);
  const std::string& object = pick(random, objects);
  const bool duplicate = random.below(2) == 0, other_intent = !duplicate && random.below(3) > 0;
  std::string other = object;
  while (!duplicate && !other_intent && other == object) other = pick(random, objects);
  const std::string first = ask(intent, object);
  std::string second = first;
  while (second == first) second = ask(other_intent ? pick(random, missed) : intent, other);
  return {{first, second}, duplicate ? "1.0" : "0.0"};
}

// ---- Similarity, 0..5: who 1, what 2.5, where 1.5 points for the same meaning, a fifth for a vaguer word

Row sentence_pair(Random& random) {
  struct Part {
    double points;
    std::vector<Words> meanings;                   // of one meaning, the same said in several ways
    Words vague;
  };
  static const std::vector<Part> parts = {
      {1.0, {{"a man", "a gentleman"}, {"a girl", "a young lady"}, {"a chef", "a cook"}},
       {"somebody", "a person"}},
      {2.5, {{"is slicing an onion", "is cutting an onion"}, {"is riding a bike", "is riding a bicycle"},
             {"is repairing a radio", "is mending a radio"}, {"is singing a song", "is singing a tune"}},
       {"is doing something", "is busy"}},
      {1.5, {{"in the garden", "in the yard"}, {"near the station", "close to the station"},
             {"in a kitchen", "at the stove"}, {"by the sea", "on the shore"}},
       {"somewhere", "in some place"}}};

  std::string first, second;
  double similarity = 0;
  for (const Part& part : parts) {
    const Words& meaning = pick(random, part.meanings);
    const Words* other = &meaning;
    const uint64_t relation = random.below(5);     // 0, 1: the same, 2, 3: vaguer, 4: another
    if (relation == 2 || relation == 3) other = &part.vague;
    while (relation == 4 && other == &meaning) other = &pick(random, part.meanings);
    similarity += part.points * (relation < 2 ? 1 : relation < 4 ? 0.2 : 0);
    first += pick(random, meaning) + " ";
    second += pick(random, *other) + " ";
  }
  first.back() = second.back() = '.';
  return {{first, second}, format("{}", similarity)};
}

// ---- Files

void add_words(const std::string& text, std::set<std::string>& words) {
  std::string word;
  for (char c : text + " ") {
    if (std::isalpha(c)) word += char(std::tolower(c));
    else words.insert(std::exchange(word, ""));
  }
}

// The course's columns; in a test file no label, in SST's a second one for the row's number.
struct File {
  std::string name;
  Row (*make)(Random&);
  Words columns;
  int percent;                                     // of --rows
};
const std::vector<File> files = {
    {"ids-sst-train.csv", sentiment, {"", "id", "sentence", "sentiment"}, 100},
    {"ids-sst-dev.csv", sentiment, {"", "id", "sentence", "sentiment"}, 30},
    {"ids-sst-test-student.csv", sentiment, {"0", "", "id", "sentence"}, 30},
    {"quora-train.csv", question_pair, {"", "id", "sentence1", "sentence2", "is_duplicate"}, 100},
    {"quora-dev.csv", question_pair, {"", "id", "sentence1", "sentence2", "is_duplicate"}, 30},
    {"quora-test-student.csv", question_pair, {"", "id", "sentence1", "sentence2"}, 30},
    {"sts-train.csv", sentence_pair, {"", "id", "sentence1", "sentence2", "similarity"}, 100},
    {"sts-dev.csv", sentence_pair, {"", "id", "sentence1", "sentence2", "similarity"}, 30},
    {"sts-test-student.csv", sentence_pair, {"", "id", "sentence1", "sentence2"}, 30}};

std::string file_text(const File& file, int rows, Random random, std::set<std::string>& words) {
  std::string text = tsv_line(file.columns);
  for (int i = 0; i < rows; ++i) {
    const Row row = file.make(random);
    std::string id;
    for (int digit = 0; digit < 25; ++digit) id += "0123456789abcdef"[random.below(16)];
    Words fields = {std::to_string(i), id};
    if (file.columns[1].empty()) fields.insert(fields.begin() + 1, std::to_string(i) + ".0");
    fields.insert(fields.end(), row.texts.begin(), row.texts.end());
    if (fields.size() < file.columns.size()) fields.push_back(row.label);
    text += tsv_line(fields);
    for (const std::string& sentence : row.texts) add_words(sentence, words);
  }
  return text;
}

std::string vocabulary(const std::set<std::string>& words) {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  const std::string_view signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~0123456789abcdefghijklmnopqrstuvwxyz";
  for (char c : signs) text += std::string(1, c) + "\n";
  for (char c : signs)
    if (std::isalnum(c)) text += std::string("##") + c + "\n";
  for (const std::string& word : words)
    if (word.size() > 1) text += word + "\n";      // single letters are there already
  return text;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string out;
  int rows = 300;
  uint64_t seed = 11711;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    MB_CHECK(i + 1 < argc, "{}: a value is missing", option);
    if (option == "--out") out = argv[i + 1];
    else if (option == "--rows") rows = std::stoi(argv[i + 1]);
    else if (option == "--seed") seed = std::stoull(argv[i + 1]);
    else fail(format("{}: expected --out DIR, --rows N or --seed N", option));
  }
  MB_CHECK(!out.empty() && rows >= 10, "expected --out DIR, the folder to write to, and at least 10 rows");
  make_folder(out);
  std::set<std::string> words;
  for (const File& file : files)
    write_file(out + "/" + file.name,
               file_text(file, rows * file.percent / 100, Random(seed, "demo/" + file.name), words));
  write_file(out + "/vocab.txt", vocabulary(words));
  std::cout << out << ": " << rows << " training rows a task\n";
} catch (const std::exception& error) {
  std::cerr << "make_demo_data: " << error.what() << "\n";
  return 1;
}
