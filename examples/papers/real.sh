#!/usr/bin/env bash
# real.sh DATA OUT JOBS MODEL...: the documents on real data, for `make study DATA=data MODEL=data/models/minilm`.
#   DATA    has glue/, phrasebank/ and the course's files, from data/download.sh glue phrasebank course
#   OUT     for the reports: OUT/index.html lists them. What is done there is not done again. OUT/measured/ gets what
#           their claims are judged by, a file a document: data/papers/measured/ has such files, and the pages show them
#   JOBS    runs side by side
#   MODEL   BERT's folders: each is measured, on all rows of the sets, of SST-2 10,000; the first is fine-tuned
# What is trained: SST-2 and STS-B, 1,000 rows, 3 epochs, six seeds, one rate; networks of their own on the whole
# PhraseBank, one seed, six of fig.5 and fig.6; the course's SST, Quora and STS, 8,544 rows each, 3 epochs, six seeds;
# beside it CLN's study of data/mini, which README files show, too. Two days on two cores; every program goes on where
# it was stopped.
# MATMUL=bf16: where the processor has AVX512-BF16 or AMX, in two thirds of the time.
set -u -o pipefail
[ $# -ge 4 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(dirname "$0")
data=$1 out=$2 jobs=$3
shift 3
program() {                                         # PROGRAM PART OPTIONS...: its report is OUT/PROGRAM-PART
  local name=$1 part=$2
  shift 2
  echo "== $name, $part"
  "$here/../../build/bin/$name" "$@" --jobs "$jobs" --matmul "${MATMUL:-tf32}" --out "$out/$name-$part" || exit
}
sets=(--data "$data/glue")
for model in "$@"; do
  part=measured-$(basename "${model%/model}")         # runs/tiny/model is tiny
  rows=(--model "$model" "${sets[@]}" --tasks cola,mrpc,rte,stsb,sst2 --limit 10000)
  program isotropy "$part" sec2.1 fig1 sec2.2 fig2 fig3 eq3 eq5 alg1 tab2 fig4 "${rows[@]}"
  program task_adaptation "$part" fig1 fig2 eq1 fig3 "${rows[@]}"
  program layernorm_tuning "$part" tab1 fig3 fig4 "${rows[@]}" --fisher-examples 1000
done
rows=(--model "$1" "${sets[@]}" --limit 1000 --epochs 3 --seeds 6)
program isotropy trained tab1 learning "${rows[@]}" --tasks sst2,stsb --lr 5e-5
program task_adaptation trained tab1 learning "${rows[@]}" --tasks sst2 --lr 5e-5        # its tab.1 has no STS-B
program layernorm_tuning trained tab2 sec3.1 "${rows[@]}" --tasks sst2,stsb --lr-full 5e-5 --lr-part 1e-3
nt=(tab1 tab2 tab3 tab4 tab5 tab6 fig4 init)
MATMUL=tf32 program transformer_norms trained "${nt[@]}" --data "$data/phrasebank" --seeds 1
MATMUL=tf32 program transformer_norms landscape fig5 fig6 --data "$data/phrasebank"
cln=(train test gains epochs forgetting switch rate controls turns order)
course=(--model "$1" --data "$data" --limit 8544 --epochs 3 --lr 5e-5 --warmup 0 --schedule constant --dropout 0.3)
program conditional_layer_norm course "${cln[@]}" "${course[@]}" --record 0
MATMUL=tf32 program conditional_layer_norm generated "${cln[@]}" readings --limit 2000 --record 0       # on data/mini
mkdir -p "$out/measured"
for document in cln:conditional_layer_norm isobn:isotropy task-adaptation:task_adaptation lnpeft:layernorm_tuning \
                transformer-norms:transformer_norms; do
  cat "$out/${document#*:}"-*/measured.csv > "$out/measured/${document%:*}.csv"
done
"$here/../../build/bin/study_index" "$out"
