// What our values say of a document's claims: one list of words, one rule for each.
//
// A claim says that some values are above others, or that runs turn out in some way.
//   Facts        values without a seed are computed, not trained: nothing of them is chance. The claim
//                holds in each pair of values, or it does not: "as printed", "not as printed".
//   Comparisons  trained values have a seed. The pairs are the seeds, each with its mean over all else;
//                of one seed, the tasks. p is the exact sign-flip test's, two-sided:
//                  supported            p <= .05, in the claim's direction
//                  points that way      each pair does, but they are too few for p <= .05
//                  undecided            all else: mixed signs, ties, a single pair, values that are
//                                       undefined since a model gives every input the same answer
//                  points the other way, contradicted: likewise against the claim
// With 6 pairs of one sign p = 2/64 = .031; 5 cannot give less than .0625.
#pragma once

#include <array>
#include <string>

#include "report/long_table.h"

namespace minbert {

// style: of the page, "good", "half", "bad" or "none"
struct VerdictWord {
  const char *word, *style, *meaning;
};
inline constexpr std::array<VerdictWord, 10> verdict_words = {
    {{"as printed", "good", "nothing trained, nothing random, and so it is in every case"},
     {"supported", "good", "trained runs show it, p <= .05 by the exact sign-flip test"},
     {"points that way", "half", "every pair of runs shows it, but they are too few for p <= .05"},
     {"undecided", "none", "the runs do not tell: pairs that differ in sign, ties, or one pair alone"},
     {"points the other way", "half", "every pair of runs shows the opposite, too few for p <= .05"},
     {"contradicted", "bad", "trained runs show the opposite, p <= .05"},
     {"not as printed", "bad", "nothing trained, nothing random, and in some cases it is not so"},
     {"not comparable", "none", "the document says too little to tell, or ours is too different"},
     {"not judged", "none", "a quick look, with too little work behind it"},
     {"not run", "none", "there are no values of ours"}}};

// One of a document's statements about its numbers: those at `more` are above those at `less`. The
// columns that both leave open pair the values, one with one.
struct Claim {
  std::string where, text;                                  // "sec.4.3", in our words
  LongTable::Where more, less;
};

struct Verdict {
  std::string word, why;
  Numbers pairs = {};            // the differences that it rests on, in the unit that is shown
  // The probability of "supported" or "contradicted" if there is no effect; 0: the pairs are too few
  double by_chance = 0;
};

// How a difference of the item's values is shown: 0.0191 as "1.91 %"
struct Unit {
  double factor = 1;
  int digits = 4;
  std::string name = {};
};

Verdict judge(const Claim& claim, const LongTable& ours, const Unit& unit = {});
// Of a claim that some values are about as large as others, where the document says no margin: no test
// decides that. In place of the verdict, the mean difference and within what it lies.
Verdict about_equal(const Verdict& verdict, const Unit& unit);
// A claim that a value is the printed one, to the digits that are printed.
struct Equal {
  LongTable::Where at;
  double printed;
  int digits;
};
Verdict judge_equal(const std::vector<Equal>& values, const LongTable& ours);
// A claim that every value that `where` selects is `value`: a seed all of whose values are so
// counts 1, each other seed -1.
Verdict judge_all(const LongTable::Where& where, double value, const LongTable& ours);

// ---- The test

// Exact: of the 2^n ways to give n differences signs, the share whose sum is at least as far from 0
// as theirs. Between two methods under the same seeds. 0 < n <= 24.
double sign_flip_p(const Numbers& differences);
double least_sign_flip_p(size_t n);                         // 2 / 2^n: all of one sign

// An interval that has the differences' center with probability of at least .95, if they are
// symmetric about it, whatever their distribution: between the k-th of the means of all subsets from
// below and from above, k = .025 2^n (Hartigan 1969). 6 <= n <= 16.
std::pair<double, double> sign_flip_interval(const Numbers& differences);

}  // namespace minbert
