#!/usr/bin/env bash
# results.sh MODEL DATA RUNS: LayerNorm beside conditional LayerNorm on the course's real data [CLN]: SST, Quora, STS.
#   MODEL   a BERT's folder: data/models/minilm, from data/download.sh
#   DATA    the course's files: data, from data/download.sh course
#   RUNS    a folder for the runs; a run that was stopped there goes on
# 34 runs, each an hour's fifth on two cores. What is in results.csv, beside this script, is not trained again; with all
# runs there it prints the tables alone. A run has 3 epochs, batches of 16, all of SST and STS, 8,544 rows of Quora.
#   rate    one run for each norm and rate, round-robin, with a seed of its own, scored on 1,000 training rows of each
#           task that are kept out. The best rate of each norm serves the runs below
#   main    each norm, sequential (the paper's loop) and round-robin, six seeds, scored on dev after the last epoch
#   part    each norm, round-robin, one seed, where a part of the network is trained, with multitask's own rate
set -u -o pipefail
export LC_ALL=C.UTF-8
here=$(dirname "$0")
table=$here/results.csv
program=$here/../../../build/bin/multitask
[ $# = 3 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2; }
model=$1 data=$2 runs=$3
norms=(layer conditional-layer)
seeds=(11711 11712 11713 11714 11715 11716)

# Every n-th row of a file, 1,000 of them, goes to OUT's dev file, the others to its training file.
keep_out() {                                        # FILE-train.csv FILE-dev.csv OUT
  local rows
  rows=$(($(wc -l < "$1") - 1))
  awk -v rows="$rows" -v dev="$3/$(basename "$2")" -v train="$3/$(basename "$1")" '
    NR == 1 { print > dev; print > train; next }
    { out = int((NR - 1) * 1000 / rows) > int((NR - 2) * 1000 / rows); print > (out ? dev : train) }' "$1"
}

# Trains one run, unless its row is there, and adds the row. The scores are those after its last epoch.
run() {                                             # PURPOSE NORM SAMPLING TRAIN RATE SEED DATA
  local key="$1,$2,$3,$4,$5,$6" out="$runs/$1-$2-$3-$4-$5-$6" start=()
  grep -q "^$key," "$table" && return
  if [ -f "$out/options.json" ]; then
    start=(--resume)
  else
    rm -rf "$out"
    start=(--model "$model" --data "$7" --norm "$2" --sampling "$3" --train "$4" --lr "$5" --seed "$6"
           --epochs 3 --batch 16 --limit 8544)
  fi
  "$program" "${start[@]}" --out "$out" || exit
  awk -F, -v key="$key" '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { last = sprintf("%s,%.4f,%.4f,%.4f,%.4f,%.0f", key, $column["sst_accuracy"], $column["quora_accuracy"],
                     $column["sts_pearson"], $column["dev_mean"], $column["seconds"]) }
    END { print last }' "$out/epochs.csv" >> "$table"
  rm -rf "$out/model" "$out/state.safetensors"      # they are large, and nobody reads them again
}

best_rate() {                                       # NORM
  awk -F, -v norm="$1" '$1 == "rate" && $2 == norm && $10 > best { best = $10; rate = $5 } END { print rate }' "$table"
}

mkdir -p "$runs/kept-out" || exit
[ -f "$table" ] || echo purpose,norm,sampling,train,rate,seed,sst,quora,sts,mean,seconds > "$table"
for task in ids-sst quora sts; do keep_out "$data/$task-train.csv" "$data/$task-dev.csv" "$runs/kept-out" || exit; done
for rate in 5e-5 2e-5 1e-4; do
  for norm in "${norms[@]}"; do run rate "$norm" round-robin full-model "$rate" 11717 "$runs/kept-out"; done
done
for seed in "${seeds[@]}"; do
  for sampling in sequential round-robin; do
    for norm in "${norms[@]}"; do
      run main "$norm" "$sampling" full-model "$(best_rate "$norm")" "$seed" "$data"
    done
  done
done
for part in last-linear-layer layer-norm; do
  for norm in "${norms[@]}"; do run part "$norm" round-robin "$part" 0 "${seeds[0]}" "$data"; done
done

# mean ± deviation of each column, and of the differences between runs of one seed, with p: the share of all choices of
# signs of the n differences whose sum is at least as far from 0 (the two-sided permutation test of pairs).
awk -F, '
  function p_of(row, list, n, j,   signs, i, sum, own, far) {
    for (signs = 0; signs < 2 ^ n; signs++) {
      sum = 0
      for (i = 1; i <= n; i++) {
        sum += (int(signs / 2 ^ (i - 1)) % 2 ? -1 : 1) * list[row, j, i]
      }
      if (sum < 0) sum = -sum
      if (signs == 0) own = sum
      far += sum > own - 1e-9
    }
    return far / 2 ^ n
  }
  function say(name, row, list, n, test,   i, j, sum, square, mean) {
    printf "| %s |", name
    for (j = 7; j <= 10; j++) {
      sum = square = 0
      for (i = 1; i <= n; i++) sum += list[row, j, i]
      mean = sum / n
      for (i = 1; i <= n; i++) square += (list[row, j, i] - mean) ^ 2
      if (n > 1) printf " %.4f ± %.4f", mean, sqrt(square / (n - 1))
      else printf " %.4f", mean
      printf "%s |", test ? sprintf(" (p %.2f)", p_of(row, list, n, j)) : ""
    }
    print ""
  }
  NR == 1 { next }
  $1 == "rate" || $1 == "part" { one[$1] = one[$1] sprintf("| %s, %s | %s | %s | %s | %s |\n", $2,
                                       $1 == "rate" ? $5 : $4, $7, $8, $9, $10); next }
  { n[$3, $2]++; for (j = 7; j <= 10; j++) of[$3 " " $2, j, n[$3, $2]] = $j }
  END {
    head = " | SST accuracy | Quora accuracy | STS Pearson | mean |\n|---|---|---|---|---|\n"
    printf "| kept-out training rows, one seed%s%s\n", head, one["rate"]
    printf "| dev, %d seeds%s", n["round-robin", "layer"], head
    split("sequential round-robin", samplings, " ")
    for (s = 1; s <= 2; s++) {
      sampling = samplings[s]
      runs = n[sampling, "layer"]
      say(sampling ", LayerNorm", sampling " layer", of, runs)
      say(sampling ", conditional", sampling " conditional-layer", of, runs)
      for (j = 7; j <= 10; j++)
        for (i = 1; i <= runs; i++)
          of[sampling, j, i] = of[sampling " conditional-layer", j, i] - of[sampling " layer", j, i]
      say(sampling ", difference", sampling, of, runs, 1)
    }
    printf "\n| dev, a part is trained, one seed%s%s", head, one["part"]
  }' "$table"
