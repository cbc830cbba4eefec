// The options of transformer_norms: its grids, and what it refuses.
#include <algorithm>
#include <cmath>

#include "minbert/norm.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {

NtOptions::NtOptions() {
  model = "";
  data = shipped("data/mini/phrasebank");
  tasks = "phrasebank";
  out = "runs/transformer_norms";
  limit = 0;
  seeds = 6;
  epochs = 12;
  record = 10;
}

const Grids nt_grids = {{{"--widths", "64,128,256"}, {"--epochs", "20"}, {"--seeds", "6"}},
                        {{"--epochs", "3"}, {"--seeds", "1"}, {"--lr", "10,0.5,0.1,0.001"},
                         {"--depths", "1,4,12"}, {"--limit", "128"}, {"--measure-every", "1"}}};

void check_nt_options(const NtOptions& o) {
  const int heads = BertConfig::named("narrow-1").num_attention_heads;
  MB_CHECK(o.layers.size() == 2 && std::ranges::is_sorted(o.layers),
           "--layers: expected two numbers, of the shallow and of the deep models");
  MB_CHECK(o.widths.size() == 3 && std::ranges::is_sorted(o.widths),
           "--widths: expected three numbers, of the narrow, normal and wide models");
  for (const auto& [name, list] : {std::pair("--layers", o.layers), {"--depths", o.depths}})
    for (const double n : list)
      MB_CHECK(std::fmod(n, 1) == 0, "{} {}: expected whole numbers", name, n);
  for (const double width : o.widths) {
    MB_CHECK(std::fmod(width, heads) == 0,
             "--widths {}: expected multiples of {}, the number of heads", width, heads);
    for (const std::string& norm : o.norms)
      norms().make(norm, {.hidden = int64_t(width)});  // Error for its options
  }
  for (const double lr : o.lr) MB_CHECK(lr > 0, "--lr {}: expected numbers above 0", lr);
  MB_CHECK(o.epochs > 1,
           "--epochs {}: whether a loss falls from the first epoch to the last is seen from 2 on",
           o.epochs);
}

}  // namespace minbert
