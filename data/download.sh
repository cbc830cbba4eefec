#!/usr/bin/env bash
# download.sh: fetches the data and the pre-trained models that the documents use, to where the
# programs look for them.
#
#   data/download.sh --list                     what there is: files, sizes, SHA-256, addresses
#   data/download.sh course bert-base-uncased   all that `multitask` needs for the course's tasks
#   data/download.sh glue phrasebank bert roberta
#                                               GLUE, the Financial PhraseBank, every model
#   build/bin/multitask --model data/models/bert-base-uncased --data data --out runs/first
#
# A name stands for itself and for all that begin with it and a hyphen: glue is glue-cola, glue-rte
# and so on. What is fetched belongs to its authors: read their licenses (the PhraseBank's allows no
# commercial use).
#
#   --into DIR     the folder to fill; unless given data/, where this script lies, or once it is installed the data/ in
#                  which you stand
#   --table FILE   another table instead of the one in this script, in the same form: a mirror, say
#   --list, --help
#
# A file arrives as NAME.part, is checked, and only then gets its name; a zip is unpacked beside its
# folder and moved there whole. Run it again after any failure: what is there is not fetched again,
# what is half there goes on where it broke off, and what came wrong (kept as NAME.wrong, to look
# at) is fetched afresh. A file that is there and is not what the table says is never overwritten.
# The script exits with 1 if anything failed, after trying all the rest.
#
# A "-" in the table is a size or a SHA-256 that is not known: it is not checked, and the run prints
# the SHA-256 it got. The addresses are taken from public sources and are untried. GLUE's and the
# PhraseBank's checksums are those in Hugging Face's `datasets`, BERT-base's are pinned by several
# public projects, MiniLM's are those of a Python package that carries it; the course's were taken of
# copies that have as many characters as the files at that commit of its repository. Needs bash, curl,
# sha256sum and unzip. No root.
set -u

# group NAME ABOUT | from ADDRESS | to FOLDER | file NAME BYTES SHA256 [NAME HERE] |
# zip NAME BYTES SHA256 | text NAME CONTENT | mrpc train.tsv
# The one folder in a zip becomes that of its `to`; a text is written, not fetched: the small BERTs
# do not record their casing; mrpc makes GLUE's sets of the files above it.
IFS= read -r -d '' table <<'END'
group course           CS224n's default final project: SST, CFIMDB, Quora, STS (TAB-separated, 2023)
from  https://github.com/gpoesia/minbert-default-final-project/raw/f25cd95c73a1ce3f3b88dd7a11df90f0ab488bd9/data
to    .
file  ids-sst-train.csv            1175139 03b2b625c090f94a6afd59f114cde5282e2053aab0b101e87ed695d8a0c5b1df
file  ids-sst-dev.csv               151384 a186ce94577635fbe10beaaddd50f16cccf6c30973221cefdf90deed2a584bfe
file  ids-sst-test-student.csv      313202 bdd5a767faa0c26782117e37767ece154c30d5d04fb8727d09c71e3850a55c7b
file  ids-cfimdb-train.csv         1693182 140fc513045a966109faed46a5c7a898767b96714d71bcb9c15f659129fadcea
file  ids-cfimdb-dev.csv            249095 3087f571b66860fe5d035b5a018d08202ad3fd3720e4821c04b2acf6c7ded559
file  ids-cfimdb-test-student.csv   495595 7ae611548c9eac879e9ebb406cc9f8ae68ff12f78090e4965af5cbdfa06240f4
file  quora-train.csv                    - -
file  quora-dev.csv                3205321 bfa3cc954a9ba300ae776a980141de65f622a3c1b97e3fd905d63245bc36d5ad
file  quora-test-student.csv             - -
file  sts-train.csv                 928832 15d12efc2d656fffb1d61ac1f08ec4227f43925fd16f420c037cbd063699c21b
file  sts-dev.csv                   132265 ce3cad6f16062586ac7ba462c28b010a9be10c530fd5074165860d7b7ab4e93d
file  sts-test-student.csv          256677 dee455745b72e9ca3ff74e7c056bd73e34bad5b8d5641045a2c1e7e131866f47

group glue-cola        CoLA, linguistic acceptability
from  https://dl.fbaipublicfiles.com/glue/data
to    glue/CoLA
zip   CoLA.zip                      376971 f212fcd832b8f7b435fb991f101abf89f96b933ab400603bf198960dfc32cbff
group glue-sst2        SST-2, sentiment in two classes
to    glue/SST-2
zip   SST-2.zip                    7439277 d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa
group glue-rte         RTE, entailment
to    glue/RTE
zip   RTE.zip                       697150 6bf86de103ecd335f3441bd43574d23fef87ecc695977a63b82d5efb206556ee
group glue-stsb        STS-B, similarity
to    glue/STS-B
zip   STS-B.zip                     802872 e60a6393de5a8b5b9bac5020a1554b54e3691f9d600b775bd131e613ac179c85
group glue-qnli        QNLI, does the sentence answer the question
to    glue/QNLI
zip   QNLIv2.zip                  10627589 e634e78627a29adaecd4f955359b22bf5e70f2cbd93b493f2d624138a0c0e5f5
group glue-qqp         QQP, Quora question pairs
to    glue/QQP
zip   QQP-clean.zip               41696084 40e7c862c04eb26ee04b67fd900e76c45c6ba8e6d8fab4f8f1f8072a1a3fbae0
group glue-mnli        MNLI, entailment, matched and mismatched (the largest by far)
to    glue/MNLI
zip   MNLI.zip                   312783507 e7c1d896d26ed6caf700110645df426cc2d8ebf02a5ab743d5a5c68ac1c83633
group glue-mrpc        MRPC, paraphrases in the news
from  https://dl.fbaipublicfiles.com/senteval/senteval_data
to    glue/MRPC
file  msr_paraphrase_train.txt     1047044 60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89
file  msr_paraphrase_test.txt       441275 a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784
from  https://dl.fbaipublicfiles.com/glue/data
file  mrpc_dev_ids.tsv                6222 971d7767d81b997fd9060ade0ec23c4fc31cbb226a55d1bd4a1bac474eb81dc7 dev_ids.tsv
mrpc  train.tsv

group phrasebank       Financial PhraseBank, sentiment in three classes (CC BY-NC-SA 3.0)
from  https://huggingface.co/datasets/takala/financial_phrasebank/resolve/main/data
to    phrasebank
zip   FinancialPhraseBank-v1.0.zip  681890 0e1a06c4900fdae46091d031068601e3773ba067c7cecb5b0da1dcba5ce989a6

group bert-base-uncased   12 layers, H = 768, lower case
from  https://huggingface.co/google-bert/bert-base-uncased/resolve/86b5e0934494bd15c9632b12f734a8a67f723594
to    models/bert-base-uncased
file  config.json                      570 7160e1553ad2ca51d8c1cb066be533db31826e12d173824c1bb0cb1a4f187d20
file  vocab.txt                     231508 07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3
file  tokenizer_config.json              - -
file  model.safetensors          440449768 68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3
group bert-base-cased     12 layers, H = 768, capitals kept
from  https://huggingface.co/google-bert/bert-base-cased/resolve/cd5ef92a9fb2f889e972770a36d4ed042daf221e
to    models/bert-base-cased
file  config.json                        - -
file  vocab.txt                     213450 eeaa9875b23b04b4c54ef759d03db9d1ba1554838f8fb26c5d96fa551df93d02
file  tokenizer_config.json              - -
file  model.safetensors          435755784 1d8bdcee6021e2c25f0325e84889b61c2eb26b843eef5659c247af138d64f050
group bert-large-cased    24 layers, H = 1024, capitals kept (about 1.3 GB)
from  https://huggingface.co/google-bert/bert-large-cased/resolve/main
to    models/bert-large-cased
file  config.json                        - -
file  vocab.txt                          - -
file  tokenizer_config.json              - -
file  model.safetensors                  - -
group bert-large-uncased  24 layers, H = 1024, lower case (about 1.3 GB)
from  https://huggingface.co/google-bert/bert-large-uncased/resolve/main
to    models/bert-large-uncased
file  config.json                        - -
file  vocab.txt                          - -
file  tokenizer_config.json              - -
file  model.safetensors                  - -
group bert-large-wwm      24 layers, H = 1024, lower case, pre-trained with whole words masked (about 1.3 GB)
from  https://huggingface.co/google-bert/bert-large-uncased-whole-word-masking/resolve/main
to    models/bert-large-wwm
file  config.json                        - -
file  vocab.txt                          - -
file  tokenizer_config.json              - -
file  model.safetensors                  - -
group bert-tiny           2 layers, H = 128, lower case
from  https://huggingface.co/google/bert_uncased_L-2_H-128_A-2/resolve/30b0a37ccaaa32f332884b96992754e246e48c5f
to    models/bert-tiny
file  config.json                        - -
file  vocab.txt                          - -
text  tokenizer_config.json {"do_lower_case": true}
file  model.safetensors                  - -
group bert-mini           4 layers, H = 256, lower case (not seen: that it has a model.safetensors)
from  https://huggingface.co/google/bert_uncased_L-4_H-256_A-4/resolve/main
to    models/bert-mini
file  config.json                        - -
file  vocab.txt                          - -
text  tokenizer_config.json {"do_lower_case": true}
file  model.safetensors                  - -
group bert-small          4 layers, H = 512, lower case (not seen: that it has a model.safetensors)
from  https://huggingface.co/google/bert_uncased_L-4_H-512_A-8/resolve/main
to    models/bert-small
file  config.json                        - -
file  vocab.txt                          - -
text  tokenizer_config.json {"do_lower_case": true}
file  model.safetensors                  - -
group bert-medium         8 layers, H = 512, lower case (not seen: that it has a model.safetensors)
from  https://huggingface.co/google/bert_uncased_L-8_H-512_A-8/resolve/main
to    models/bert-medium
file  config.json                        - -
file  vocab.txt                          - -
text  tokenizer_config.json {"do_lower_case": true}
file  model.safetensors                  - -
group minilm              all-MiniLM-L6-v2: 6 layers, H = 384, lower case; its mean is a sentence's vector
from  https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main
to    models/minilm
file  config.json                      612 953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41
file  tokenizer.json                466247 be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037
file  tokenizer_config.json              - -
file  modules.json                       - -
file  sentence_bert_config.json          - -
file  model.safetensors           90868376 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
from  https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/1_Pooling
to    models/minilm/1_Pooling
file  config.json                        - -
group roberta-base        12 layers, H = 768, capitals kept
from  https://huggingface.co/FacebookAI/roberta-base/resolve/main
to    models/roberta-base
file  config.json                        - -
file  vocab.json                         - -
file  merges.txt                         - -
file  tokenizer_config.json              - -
file  model.safetensors                  - -
group roberta-large       24 layers, H = 1024, capitals kept (about 1.4 GB)
from  https://huggingface.co/FacebookAI/roberta-large/resolve/main
to    models/roberta-large
file  config.json                        - -
file  vocab.json                         - -
file  merges.txt                         - -
file  tokenizer_config.json              - -
file  model.safetensors                  - -
END

stop() { printf 'download.sh: %s\n' "$@" >&2; exit 2; }

into=${BASH_SOURCE[0]%/*} list='' wanted=()
[ "$into" != "${BASH_SOURCE[0]}" ] || into=.
[ ! -e "$into/../installed" ] || into=data
while (($#)); do
  case $1 in
    --help | -h) sed -n '2,/^[^#]/{s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"; exit 0 ;;
    --list) list=1 ;;
    --into) into=${2:?"--into needs a folder"}; shift ;;
    --table) table=$(cat -- "${2:?"--table needs a file"}") || exit 2; shift ;;
    -*) stop "there is no option $1; see --help" ;;
    *) wanted+=("$1") ;;
  esac
  shift
done

groups=$(awk '$1 == "group" { printf "%s ", $2 }' <<<"$table")
for name in ${wanted[@]+"${wanted[@]}"}; do
  [[ " $groups" == *" $name"[-\ ]* ]] || stop "there is no \"$name\"; expected some of: $groups"
done
((${#wanted[@]})) || [ -n "$list" ] ||
  stop "what shall it fetch? Some of: $groups" "(--help says more, --list all)"
for tool in curl sha256sum unzip; do
  [ -n "$list" ] || command -v "$tool" >/dev/null ||
    stop "$tool is not installed; on Debian and Ubuntu: sudo apt-get install curl coreutils unzip"
done

chosen() {   # chosen GROUP: is it wanted?
  local name
  for name in "${wanted[@]-$1}"; do [[ $1 == "$name" || $1 == "$name"-* ]] && return; done
  return 1
}

transfer() {   # transfer ADDRESS PART: goes on where an earlier one broke off
  local try http code meter=(--silent)
  [ ! -t 2 ] || meter=(--progress-bar)
  for try in 1 2 3; do
    http=$(curl --location --fail --show-error "${meter[@]}" --continue-at - --output "$2" \
      --write-out '%{http_code}' --proto =https,file --proto-redir =https \
      --connect-timeout 30 --speed-limit 1000 --speed-time 60 -- "$1" </dev/null)
    code=$?
    ((code)) || return 0
    # The server cannot go on in the middle, or has no more than we have: from the beginning.
    if ((code == 33 || code == 36 || code == 22 && http == 416)); then rm -f "$2"; fi
    ((try == 3)) || { echo "  try $((try + 1)) of 3"; sleep "$try"; }
  done
  todo='run the same command again: it goes on where it broke off. If the address has moved,
           correct the table in data/download.sh (a model without model.safetensors may have
           a refs/pr revision with it)'
  return 1
}

right() {   # right FILE SHA256: is it what the table says?
  local sum
  sum=$(sha256sum <"$1")
  got=${sum%% *}
  [ "$2" = - ] || [ "$2" = "$got" ]
}

fetch() {   # fetch ADDRESS FILE BYTES SHA256: FILE is there and right; `outcome` says since when
  if [ -e "$2" ]; then
    outcome='already there' todo="move $2 away and run the same command again"
    right "$2" "$4"
    return
  fi
  echo "$2: $3 bytes, from $1"
  transfer "$1" "$2.part" || return
  [ -f "$2.part" ] || : >"$2.part"   # an empty file
  if ! right "$2.part" "$4"; then
    mv -f "$2.part" "$2.wrong"
    todo="look at $2.wrong; run the same command again to fetch it afresh.
           If it comes the same again, the original has changed: correct the table"
    return 1
  fi
  [ "$4" != - ] || echo "  SHA-256 $got, not checked: the table knows none"
  mv -f "$2.part" "$2"
  outcome=fetched
}

unpack() {   # unpack ZIP FOLDER: the one folder in the zip becomes FOLDER
  local room=$2.unpacking
  rm -rf "$room"
  if unzip -q "$1" -d "$room" </dev/null && rm -rf "$room/__MACOSX" && mv "$room"/* "$2"; then
    outcome='fetched and unpacked'
    rm -rf "$room" "$1"
    return
  fi
  rm -rf "$room"
  mv -f "$1" "$1.wrong"
  todo="expected a zip archive of one folder, and room for it on the disk; the message is above.
           Look at $1.wrong; run the same command again to fetch it afresh"
  return 1
}

mrpc() {   # mrpc FOLDER: GLUE's dev.tsv has the rows that dev_ids.tsv lists, train.tsv the others
  rm -f "$1"/{train,dev}.tsv.part
  awk -F '\t' -v to="$1" '{ sub(/\r$/, "") }
    NR == FNR { listed[$1 FS $2]; next }
    FNR == 1 { print >(to "/dev.tsv.part") }
    { print >(to (($2 FS $3) in listed ? "/dev.tsv.part" : "/train.tsv.part")) }' \
    "$1/dev_ids.tsv" "$1/msr_paraphrase_train.txt" && cp "$1/msr_paraphrase_test.txt" "$1/test.tsv" &&
    mv "$1/dev.tsv.part" "$1/dev.tsv" && mv "$1/train.tsv.part" "$1/train.tsv" && outcome=made
}

get() {   # get KIND ADDRESS PLACE BYTES SHA256 REST: one line of the table
  mkdir -p "${3%/*}" || return
  outcome='already there'
  case $1 in
    file) fetch "$2" "$3" "$4" "$5" ;;
    text) [ -e "$3" ] || { printf '%s\n' "$6" >"$3" && outcome=written; } ;;
    mrpc) [ -e "$3" ] || mrpc "${3%/*}" ;;
    zip) [ -e "$3" ] || { fetch "$2" "$3.zip" "$4" "$5" && unpack "$3.zip" "$3"; } ;;
  esac
}

group='' from='' folder=$into summary='' failed=0
while read -r word name rest; do
  case $word in
    group) group=$name ;;
    from) from=$name ;;
    to) folder=$into/$name folder=${folder%/.} ;;
  esac
  [ -n "$word" ] && chosen "$group" || continue
  read -r bytes sum here <<<"$rest"
  place=$folder/${here:-$name}
  case $word in zip) place=$folder ;; text) place=$folder/$name ;; esac
  case $word:$list in
    group:1) echo "$name: $rest" ;;
    file:1 | zip:1)
      printf '  %s: %s bytes, SHA-256 %s\n    %s/%s\n' "$place" "$bytes" "$sum" "$from" "$name" ;;
    text:1 | mrpc:1) echo "  $place: $rest" ;;
    file: | zip: | text: | mrpc:)
      got='' todo="make the folder ${place%/*} yourself, or choose another by --into"
      if ! get "$word" "$from/$name" "$place" "$bytes" "$sum" "$rest"; then
        outcome=FAILED failed=$((failed + 1))
        printf '%s: FAILED\n' "$place" >&2
        printf '  %-8s %s\n' address "$from/$name" expected "SHA-256 $sum" \
          ${got:+got "SHA-256 $got"} 'to do' "$todo" >&2
      fi
      summary+=$(printf '  %-22s %s' "$outcome" "$place")$'\n' ;;
  esac
done <<<"$table"
[ -n "$list" ] || printf '\n%s' "$summary"
((failed == 0)) || { echo "$failed failed; the reasons are above"; exit 1; }
