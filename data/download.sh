#!/usr/bin/env bash
# download.sh: fetches the data and the pre-trained models that the documents use, to where the programs look for them.
#
#   data/download.sh --list                          what there is: files, sizes, addresses
#   data/download.sh course bert-base-uncased        all that `multitask` needs for the course's three tasks
#   data/download.sh glue phrasebank bert roberta    every task of GLUE, the Financial PhraseBank, every model
#   build/bin/multitask --model data/models/bert-base-uncased --data data --out runs/first
#
# A name stands for itself and for all that begin with it and a hyphen: glue is glue-cola, glue-rte and so on.
# What is fetched belongs to its authors: read their licenses (the PhraseBank's allows no commercial use).
#
#   --into DIR     the folder to fill; data/, where this script lies, unless given
#   --table FILE   another table instead of the one in this script, in the same form. Addresses are https:// alone,
#                  in a table of your own also http://127.0.0.1: or http://localhost: (a mirror on this machine)
#   --tries N      how often a broken transfer is taken up again in one run (3)
#   --list, --help
#
# A file arrives as NAME.part, is checked, and only then gets its name; a zip is unpacked beside its place and moved
# there whole. Run it again after any failure: what is there is not fetched again, what is half there goes on where it
# broke off, and what came wrong (kept as NAME.wrong, to look at) is fetched afresh. A file that is there and is not
# what the table says is never overwritten. The script exits with 1 if anything failed, after trying all the rest.
#
# A "-" in the table is a size or a SHA-256 that is not known: it is not checked, and the run prints the SHA-256 it got.
# The addresses are taken from public sources and are untried. GLUE's and the PhraseBank's checksums are those in
# Hugging Face's `datasets`, BERT-base's are pinned by several public projects; the course's were taken of copies that
# have as many characters as the files at that commit of its repository.
# Needs bash, curl, sha256sum and, for a zip, unzip. No root.
set -u

# group NAME ABOUT | from ADDRESS | to FOLDER | file NAME BYTES SHA256 [NAME HERE] | zip NAME BYTES SHA256 |
# text NAME CONTENT
# A zip becomes the folder of its `to`; a text is written, not fetched: the small BERTs do not record their casing.
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
help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"; }

into=${BASH_SOURCE[0]%/*} table_file='' tries=3 list='' wanted=()
[ "$into" != "${BASH_SOURCE[0]}" ] || into=.
while (($#)); do
  case $1 in
    --help | -h) help; exit 0 ;;
    --list) list=1 ;;
    --into | --table | --tries)
      (($# > 1)) || stop "$1 needs a value; see --help"
      case $1 in --into) into=$2 ;; --table) table_file=$2 ;; *) tries=$2 ;; esac
      shift ;;
    -*) stop "there is no option $1; see --help" ;;
    *) wanted+=("$1") ;;
  esac
  shift
done
[[ $tries =~ ^[1-9][0-9]{0,3}$ ]] || stop "--tries $tries: expected a whole number from 1"

# The table, item by item: parallel arrays.
groups=() abouts=() kinds=() owners=() addresses=() files=() folders=() sizes=() sums=()
bad() { stop "${table_file:-the table}:$line: $*"; }
read_table() {
  local word rest name bytes sum more line=0 group='' from='' folder=$into
  while read -r word rest || [ -n "$word" ]; do
    line=$((line + 1))
    read -r name bytes sum more <<<"$rest"
    case $word in
      '' | '#'*) ;;
      group) group=$name; groups+=("$name"); abouts+=("${bytes:-}${sum:+ $sum}${more:+ $more}") ;;
      from) from=$name
        [[ $from == https://* || -n $table_file && $from =~ ^http://(127\.0\.0\.1|localhost):[0-9]+(/|$) ]] ||
          bad "$from: expected an address that begins with https://" ;;
      to) folder=$into/$name; folder=${folder%/.} ;;
      file | zip | text)
        [ -n "$group" ] || bad "$word before the first group"
        if [ "$word" = text ]; then rest=${rest#"$name"}; bytes=- sum=${rest# } more=
        else
          [ -n "$from" ] || bad "$word before the first from"
          [[ $bytes =~ ^(-|0|[1-9][0-9]*)$ ]] || bad "\"$bytes\" is not a size in bytes; expected a number or -"
          [[ $sum =~ ^(-|[0-9a-f]{64})$ ]] || bad "\"$sum\" is not a SHA-256; expected 64 hexadecimal digits or -"
        fi
        kinds+=("$word") owners+=("$group") addresses+=("$from/$name") folders+=("$folder")
        sizes+=("$bytes") sums+=("$sum")
        if [ "$word" = zip ]; then files+=("$folder.zip"); else files+=("$folder/${more:-$name}"); fi ;;
      *) bad "\"$word\": expected group, from, to, file, zip or text" ;;
    esac
  done
}
if [ -z "$table_file" ]; then read_table <<<"$table"
elif [ -r "$table_file" ]; then read_table <"$table_file"
else stop "--table $table_file: there is no such file, or it is not readable"; fi

chosen() {   # chosen GROUP: is it wanted?
  local name
  for name in ${wanted[@]+"${wanted[@]}"}; do [[ $1 == "$name" || $1 == "$name"-* ]] && return; done
  return 1
}
size_in_words() {
  case $1 in
    -) echo 'size not known' ;;
    ???????*) echo "$(($1 / 1000000)).$(($1 / 100000 % 10)) MB" ;;
    *) echo "$1 bytes" ;;
  esac
}
for name in ${wanted[@]+"${wanted[@]}"}; do
  found=
  for group in "${groups[@]}"; do if [[ $group == "$name" || $group == "$name"-* ]]; then found=1; fi; done
  [ -n "$found" ] || stop "there is no \"$name\"; expected some of: ${groups[*]}"
done
if [ -n "$list" ]; then
  for g in "${!groups[@]}"; do
    ((${#wanted[@]} == 0)) || chosen "${groups[g]}" || continue
    printf '%s: %s\n' "${groups[g]}" "${abouts[g]}"
    for i in "${!files[@]}"; do
      [ "${owners[i]}" = "${groups[g]}" ] || continue
      if [ "${kinds[i]}" = text ]; then printf '  %s: %s\n' "${files[i]}" "${sums[i]}"; continue; fi
      if [ "${kinds[i]}" = zip ]; then place=${folders[i]}/; else place=${files[i]}; fi
      if [ "${sums[i]}" = - ]; then sum='SHA-256 not known'; else sum="SHA-256 ${sums[i]}"; fi
      printf '  %s: %s, %s\n    %s\n' "$place" "$(size_in_words "${sizes[i]}")" "$sum" "${addresses[i]}"
    done
  done
  exit 0
fi
((${#wanted[@]})) || stop "what shall it fetch? Some of: ${groups[*]}" "(--help says more, --list all)"

tools='curl sha256sum:coreutils'
for i in "${!files[@]}"; do
  if [ "${kinds[i]}" = zip ] && chosen "${owners[i]}"; then tools+=' unzip'; break; fi
done
missing=() packages=()
for tool in $tools; do
  command -v "${tool%:*}" >/dev/null || { missing+=("${tool%:*}"); packages+=("${tool#*:}"); }
done
((${#missing[@]} == 0)) ||
  stop "not installed: ${missing[*]}" "on Debian and Ubuntu: sudo apt-get install ${packages[*]}"

# What a failure leaves for the message: what was expected, what came instead, what to do about it.
expected='' got='' todo=''
again='run the same command again: it goes on where it broke off'
moved='open the address in a browser; if it has moved, correct the table in data/download.sh'

transfer() {   # transfer ADDRESS PART BYTES: true when the server has sent everything
  local protocol='=https' limit=() meter=(--silent) afresh='' try=1 http code had
  [[ $1 == https:* ]] || protocol='=http'
  [ "$3" = - ] || limit=(--max-filesize "$3")
  [ ! -t 2 ] || meter=(--progress-bar)
  while :; do
    http=$(curl --location --fail --continue-at - --output "$2" --write-out '%{http_code}' "${meter[@]}" \
      --proto "$protocol" --proto-redir "$protocol" --noproxy 127.0.0.1,localhost ${limit[@]+"${limit[@]}"} \
      --connect-timeout 30 --speed-limit 1000 --speed-time 60 -- "$1" </dev/null)
    code=$?
    ((code)) || return 0
    expected="the file, $(size_in_words "$3")" todo=$again
    had=$([ ! -f "$2" ] || wc -c <"$2")
    # A server that cannot go on in the middle, or has no more than we have: once more from the beginning.
    if [ -z "$afresh" ] && [ -n "$had" ] && ((code == 33 || code == 22 && http == 416)); then
      afresh=1; rm -f "$2"; continue
    fi
    case $code in
      5 | 6) got="the server's name was not found: no network, or a wrong address" ;;
      7) got='no connection to the server' ;;
      18 | 52 | 55 | 56 | 92) got="the transfer broke off after ${had:-0} bytes" ;;
      22) got="HTTP status $http"
        case $http in
          408 | 429 | 5??) todo='the server is busy or broken: run the same command again later' ;;
          401 | 403) todo="it wants a login or a license accepted: fetch it by hand, to ${2%.part}" ;;
          404) todo=$moved
            [[ $1 != *.safetensors ]] || todo+='
           (if the model is there as pytorch_model.bin alone, look for a refs/pr revision with model.safetensors)' ;;
          *) todo=$moved ;;
        esac ;;
      23) got="$2 could not be written"; todo="is the disk full, or the folder not yours? See df ${2%/*}" ;;
      28) got="nothing for a minute, after ${had:-0} bytes" ;;
      35 | 60 | 77) got="no trustworthy connection (TLS; curl's error $code)"
        todo='is the clock right, and the package ca-certificates installed?' ;;
      63) got='a larger file'; todo=$moved; rm -f "$2" ;;
      *) got="curl's error $code, HTTP status $http (man curl lists them)" ;;
    esac
    case $code:$http in
      5:* | 6:* | 7:* | 18:* | 28:* | 52:* | 55:* | 56:* | 92:* | 22:408 | 22:429 | 22:5??)
        ((try < tries)) || return 1
        echo "  $got; try $((try + 1)) of $tries"
        sleep "$try"
        try=$((try + 1)) ;;
      *) return 1 ;;
    esac
  done
}

right() {   # right FILE BYTES SHA256: is it what the table says? Sets expected and got.
  local bytes sum
  bytes=$(($(wc -c <"$1")))
  expected="$2 bytes" got="$bytes bytes"
  [ "$2" = - ] || [ "$2" = "$bytes" ] || return 1
  [ "$3" != - ] || return 0
  sum=$(sha256sum <"$1")
  expected="SHA-256 $3" got="SHA-256 ${sum%% *}"
  [ "$3" = "${sum%% *}" ]
}

fetch() {   # fetch ADDRESS FILE BYTES SHA256: FILE is there and right; `outcome` says since when
  local part=$2.part had
  if [ -e "$2" ]; then
    outcome='already there'
    right "$2" "$3" "$4" && return
    todo="move $2 away and run the same command again"
    return 1
  fi
  had=$([ ! -f "$part" ] || wc -c <"$part")
  if [ -n "$had" ] && [ "$3" != - ] && ((had > $3)); then rm -f "$part"; had=; fi
  echo "$2: ${had:+has ${had// /} bytes of }$(size_in_words "$3"), from $1"
  if [ -z "$had" ] || [ "$3" = - ] || ((had < $3)); then transfer "$1" "$part" "$3" || return; fi
  [ -f "$part" ] || : >"$part"   # an empty file
  if ! right "$part" "$3" "$4"; then
    mv -f "$part" "$2.wrong"
    todo="look at $2.wrong; run the same command again to fetch it afresh.
           If it comes the same again, the original has changed: correct the table in data/download.sh"
    return 1
  fi
  [ "$4" != - ] || echo "  SHA-256 $(sha256sum <"$part" | cut -d' ' -f1), not checked: the table knows none"
  mv -f "$part" "$2"
  outcome=fetched
}

unpack() {   # unpack ZIP FOLDER SHA256: the content of the zip, or of the one folder in it, becomes FOLDER
  local room=$2.unpacking inside
  rm -rf "$room"
  if ! mkdir "$room" || ! unzip -q -o "$1" -d "$room" </dev/null; then
    rm -rf "$room"
    expected='a zip archive and room to unpack it' got="unzip failed; its message is above"
    todo="is the disk full? See df ${2%/*}. Then run the same command again"
    if [ "$3" = - ]; then mv -f "$1" "$1.wrong"; todo+="; it fetches the zip afresh ($1.wrong is this one)"; fi
    return 1
  fi
  rm -rf "$room/__MACOSX"
  inside=("$room"/*)
  if ((${#inside[@]} != 1)) || [ ! -d "${inside[0]}" ]; then inside=("$room"); fi
  expected="the folder $2" got='it cannot be made' todo="is the folder ${2%/*} yours? Then run the same command again"
  mv "${inside[0]}" "$2" && rm -rf "$room" "$1"
}

fetch_item() {   # fetch_item I
  local file=${files[$1]} folder=${folders[$1]}
  expected="the folder ${file%/*}" got='it cannot be made' todo='make it yourself, or choose another by --into'
  mkdir -p "${file%/*}" || return
  case ${kinds[$1]} in
    file) fetch "${addresses[$1]}" "$file" "${sizes[$1]}" "${sums[$1]}" ;;
    text) outcome='already there'
      [ -e "$file" ] || { printf '%s\n' "${sums[$1]}" >"$file" && outcome=written; } ;;
    zip) rmdir "$folder" 2>/dev/null   # an empty one is none
      if [ -e "$folder" ]; then outcome='already there'
      else fetch "${addresses[$1]}" "$file" "${sizes[$1]}" "${sums[$1]}" &&
        unpack "$file" "$folder" "${sums[$1]}" && outcome='fetched and unpacked'; fi ;;
  esac
}

summary='' failed=0
for i in "${!files[@]}"; do
  chosen "${owners[i]}" || continue
  if ! fetch_item "$i"; then
    outcome=FAILED failed=$((failed + 1))
    printf '%s: FAILED\n' "${files[i]}" >&2
    printf '  %-8s %s\n' address "${addresses[i]}" expected "$expected" got "$got" 'to do' "$todo" >&2
  fi
  if [ "${kinds[i]}" = zip ]; then place=${folders[i]}/; else place=${files[i]}; fi
  summary+=$(printf '  %-22s %s' "$outcome" "$place")$'\n'
done
printf '\n%s' "$summary"
((failed == 0)) || { echo "$failed failed; the reasons are above"; exit 1; }
