#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The main job on a gallery model: simulate it, tell what happened, draw it, and say where the files
# are. Usage: demo.sh PROGRAM [FOLDER]; without a folder the results go to a new temporary one.
set -eu
program=$(realpath "${1:-build/release/saltus}")
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${2:-$(mktemp -d "${TMPDIR:-/tmp}/saltus-demo.XXXXXX")}
mkdir -p "$folder"
cd "$folder"
shown=4  # events that are told in words

cat <<TEXT
A ball falls from 10 m, bounces, and comes to rest. Its model, models/ball.lisma, says so:

TEXT
sed '/^\/\//d; /^$/d; /^\(experiment\|animate\|control\|measure\)/,$d; s/^/    /' "$root/models/ball.lisma"

cat <<TEXT

$ saltus run models/ball.lisma --events ball.jsonl --plot ball.svg

TEXT
"$program" run "$root/models/ball.lisma" -o ball.csv --events ball.jsonl --plot ball.svg

# One record a line, fields in a fixed order; see docs/events.md.
cat <<TEXT

What happened, from ball.jsonl (the first $shown events and the last):

TEXT
awk -v shown="$shown" '
  function field(name,   rest) {
    if (!match($0, "\"" name "\":")) return ""
    rest = substr($0, RSTART + RLENGTH)
    if (substr(rest, 1, 1) == "\"") { rest = substr(rest, 2); sub(/".*/, "", rest); return rest }
    if (match(rest, /^(\[[^]]*\]|\{[^}]*\}|[^,}]*)/)) return substr(rest, 1, RLENGTH)
    return ""
  }
  # {"v":[-14.00,11.20],...} in words
  function changes(text,   parts, count, i, pair, words) {
    gsub(/^\{|\}$/, "", text)
    count = split(text, parts, "],")
    for (i = 1; i <= count; i++) {
      gsub(/[]"]/, "", parts[i])
      split(parts[i], pair, /:\[|,/)
      words = words sprintf("%s%s goes from %.6g to %.6g", words == "" ? "" : ", ",
                            pair[1], pair[2], pair[3])
    }
    return words
  }
  function tell(   atoms) {
    atoms = field("atom")
    gsub(/[]["]/, "", atoms)
    gsub(",", " and ", atoms)
    printf "  at %-8.6g %s hold (line %s), so the ball enters `%s`:\n", field("t"), atoms,
           field("line"), field("to")
    printf "              %s\n", changes(field("changed"))
  }
  field("kind") == "state" { last = $0; if (++count <= shown) tell() }
  field("certified") == "false" { open++ }
  END {
    if (count > shown + 1) print "  ..."
    if (count > shown) { $0 = last; tell() }
    printf "\n%d events, %s.\n\n", count, open ? open " of them not certified" : \
      "each proved to be the first after the one before it"
  }' ball.jsonl

"$program" plot ball.csv y

cat <<TEXT

The results are in $folder:

  ball.csv     the rows: time and all variables, two rows at each jump
  ball.jsonl   the events: when, why, what changed
  ball.svg     the picture, for a browser

Next:
  $program new mine && $program run mine.lisma --plot -
  make workbench         the same in a browser: write, run, look, move sliders
  README.md for a tour, docs/ for the manual, models/ for more to run.
TEXT
