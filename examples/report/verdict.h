// What our values say of a document's claims: a claim is of one kind, and each kind has its own evidence.
//
//   fact         theorems, counts, printed numbers: computed, nothing of it is chance. "so", "not so"
//   measured     values of the rows that were read, or of a random direction: the rows were drawn again, and the
//                interval is the value ± 1.96 standard deviations of the resamples, and wide enough for 95 of 100
//                of them; or, of values with a seed, as a difference
//   difference   trained runs, paired by seed, each seed with its mean over all else. p is the exact sign-flip
//                test's, two-sided, the interval the exact one. Under six pairs it decides nothing. A task that neither
//                side learned beyond the yardsticks is left out, and named: of each pair the better score, whichever
//                side has it, so that p stays exact
//   for_all      "works for every ...": in n of N, with the exact interval of the share, and those that are otherwise
//   both         "A, and B": each by its kind; the word is the worse of the two
//   about        "comparable", "unimportant": equal if the interval lies within a margin, which the claim says
//
// supported, contradicted: the interval or p says so, in or against the claim's direction; undecided: it does not.
// With 6 pairs of one sign p = 2/64 = .031; 5 cannot give less than .0625.
#pragma once

#include <array>
#include <string>

#include "report/long_table.h"

namespace minbert {

// style: of the page, "good", "bad" or "none"; rank: of two halves the lower one counts
struct VerdictWord {
  const char *word, *style, *meaning;
  int rank;
};
inline constexpr std::array<VerdictWord, 14> verdict_words = {
    {{"so", "good", "a fact: computed, with nothing random in it", 9},
     {"not so", "bad", "a fact, and otherwise", 1},
     {"supported", "good", "runs or resampled rows show it: p <= .05", 8},
     {"contradicted", "bad", "runs or resampled rows show the opposite: p <= .05", 0},
     {"undecided", "none", "the values do not tell, or are of too few runs", 4},
     {"holds in all", "good", "it is so in each of the runs", 7},
     {"not for all", "bad", "in some of the runs it is not so", 2},
     {"about equal", "good", "the difference is within the margin", 7},
     {"differs", "bad", "the difference is beyond the margin", 2},
     {"neither learned it", "none", "both sides are within 2 standard errors of the yardsticks, or below them", 4},
     {"not comparable", "none", "the document says too little to tell, or ours is too different", 5},
     {"on real data only", "none", "it is about data or a model that are not these", 5},
     {"not judged", "none", "a quick look, with too little work behind it", 3},
     {"not run", "none", "there are no values of ours", 3}}};

enum class Kind { fact, measured, difference, for_all, both, about };

// How a difference of the item's values is shown: 0.0191 as "1.91 %"
struct Unit {
  double factor = 1;
  int digits = 4;
  std::string name = {};
};
Unit unit_of(const Json& json);                     // [100, 2, "%"]

// What a claim is judged by. values: a column "seed" or "sample" says what is random: the seed of a run, or which
// drawing of the rows, "0" for the rows as they are.
struct Evidence {
  LongTable values;
  Unit unit = {};
  // By task: the best score without a BERT, and the standard error of a score. {"task", "what", "value"}, what: "score"
  // or "error"; empty: no comparison with them
  LongTable yardsticks = LongTable({"task", "what", "value"});
  // In the place of samples that were not kept: by comparison (comparison_of) the interval of the difference. what:
  // "low" or "high", in the unit of the values
  LongTable intervals = LongTable({"comparison", "what", "value"});
};

// A claim that a value is the printed one, to the digits that are printed.
struct Equal {
  LongTable::Where at;
  double printed;
  int digits;
};

// One of a document's statements about its numbers.
struct Claim {
  Kind kind = Kind::difference;
  // The values at `more` are above those at `less`. The columns that both leave open pair them, one with one.
  LongTable::Where more = {}, less = {};
  std::optional<double> more_is = {}, less_is = {};   // or above, or below, this number
  std::string over = "seed";                        // the column of the pairs; of a document's printed scores "task"
  LongTable::Where all = {};                        // of a for_all or a fact: each of these is `is`
  double is = 0;
  std::vector<Equal> equal = {};                    // of a fact
  std::vector<Claim> halves = {};                   // of both
  double margin = 0;                                // of about, in the unit that is shown
  bool one_sided = false;                           // of about: no more than the margin above, however far below
  std::string margin_is = {};                       // "the document's spread between seeds"
  std::optional<double> printed = {};               // the difference that the document prints, in this unit
};
// Of data/papers: {"kind": "difference", "more": {...}, "less": {...}}, either of them perhaps a number; "halves":
// [claims]; "printed": a number, or one for each of the document's models by its name. Error: a kind that is none, or
// that lacks what it needs.
Claim claim_of(const Json& json, const std::string& model = "");

// "norm=none|k=1 > norm=iso-bn|k=1": what a claim compares
std::string comparison_of(const Claim& claim);
// The same evidence without samples: the rows as they are, and the interval of each measured claim.
Evidence without_samples(const Evidence& evidence, const std::vector<Claim>& claims);

struct Verdict {
  std::string word, why;
  Numbers pairs = {};            // the differences that it rests on, in the unit that is shown
  double by_chance = 0;          // the probability of a coloured word if there is no effect
  std::string left_out = {};     // of a difference, in `why`: the runs and tasks that are not counted
};
Verdict judge(const Claim& claim, const Evidence& evidence);

}  // namespace minbert
