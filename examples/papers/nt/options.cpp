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
  epochs = 12;
}

const std::vector<GridValue> nt_paper_grid = {{"--widths", "64,128,256"}, {"--epochs", "20"}, {"--seeds", "3"}};
const std::vector<GridValue> nt_quick_grid = {{"--epochs", "3"}, {"--seeds", "1"}, {"--lr", "10,0.5,0.1,0.001"},
                                              {"--depths", "1,4,12"}, {"--limit", "128"}, {"--measure-every", "1"}};

void check_nt_options(const NtOptions& o) {
  const int heads = BertConfig::named("narrow-1").num_attention_heads;
  const auto whole = [](double v) { return v == std::floor(v) && v < 1e6; };
  MB_CHECK(o.layers.size() == 2, "--layers: {} numbers; expected two, of the shallow and of the deep models",
           o.layers.size());
  MB_CHECK(o.widths.size() == 3, "--widths: {} numbers; expected three, of the narrow, normal and wide models",
           o.widths.size());
  for (const auto& [name, list] : {std::pair("--layers", o.layers), std::pair("--depths", o.depths)})
    for (const double n : list) MB_CHECK(whole(n), "{} {}: expected whole numbers", name, n);
  for (const double width : o.widths)
    MB_CHECK(whole(width) && int(width) % heads == 0, "--widths {}: expected multiples of {}, the number of heads",
             width, heads);
  for (const double lr : o.lr) MB_CHECK(lr > 0, "--lr {}: expected numbers above 0", lr);
  MB_CHECK(o.layers[0] < o.layers[1], "--layers {},{}: expected the shallow models' number first", o.layers[0],
           o.layers[1]);
  MB_CHECK(std::ranges::is_sorted(o.widths), "--widths {},{},{}: expected the narrow, normal and wide models', in this "
           "order", o.widths[0], o.widths[1], o.widths[2]);
  for (const std::string& norm : o.norms)
    for (const double width : o.widths) norms().make(norm, {.hidden = int64_t(width)});         // Error for its options
  MB_CHECK(o.epochs > 1, "--epochs {}: whether a loss falls from the first epoch to the last is seen from 2 on",
           o.epochs);
}

}  // namespace minbert
