#!/usr/bin/env bash
# Prints which rows of a parameter are zero, and which are equal, in one or several models: numbers that differ from
# machine to machine are left out, unless -v asks for the first four of each row.
#
#   $ examples/runs/rows.sh [-v] bert.encoder.layer.2.output.LayerNorm.task_weight runs/first runs/second
#
# A .safetensors file is 8 bytes, the length n of its header; n bytes of JSON, which has each tensor's type, shape and
# place; and the numbers.
set -u -o pipefail
verbose=0
[ "${1:-}" = -v ] && verbose=1 && shift
[ $# -ge 2 ] || { echo "usage: examples/runs/rows.sh [-v] PARAMETER RUN..."; exit 2; }
name=$1
shift
for run; do
  file=$run/model/model.safetensors
  [ -r "$file" ] || { echo "rows: $file: cannot be read; expected the folder of a run"; exit 1; }
  n=$(od -An -tu8 -N8 "$file" | tr -d ' ')
  entry=$(head -c $((8 + n)) "$file" | tail -c "$n" | grep -o "\"${name//./\\.}\":{[^}]*}") ||
    { echo "rows: $file: there is no $name in it"; exit 1; }
  [[ $entry == *'"F32"'* ]] || { echo "rows: $file: $name is not of 32-bit numbers"; exit 1; }
  [[ $entry =~ data_offsets\":\[([0-9]+),([0-9]+)\] ]] && begin=${BASH_REMATCH[1]} end=${BASH_REMATCH[2]}
  [[ $entry =~ \"shape\":\[([0-9]+,)*([0-9]+)\] ]] && columns=${BASH_REMATCH[2]}
  od -An -v -tf4 -w$((4 * columns)) -j $((8 + n + begin)) -N $((end - begin)) "$file" | sed "s|^|$run |"
done | awk -v verbose=$verbose '
  $1 == "rows:" { print; exit 1 }
  {
    row = $1 != run ? 0 : row + 1
    run = $1
    others = 0
    for (i = 2; i <= NF; i++) others += $i != 0
    values = $0
    sub(/^[^ ]+ /, "", values)
    text = run " row " row ": " (others ? others " of " NF - 1 " columns are not 0" : "all " NF - 1 " columns are 0")
    if (values in seen) text = text ", as in " seen[values]
    else seen[values] = run " row " row
    if (verbose) text = text ": " $2 " " $3 " " $4 " " $5 " ..."
    print text
  }'
