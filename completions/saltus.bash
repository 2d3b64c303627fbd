# SPDX-License-Identifier: MIT
# bash completion of saltus

# names of the model on the command line: _saltus_names KIND
_saltus_names() {
  local file
  for file in "${COMP_WORDS[@]}"; do
    case $file in *.lisma|*.rules.md) saltus names "$file" "$1" 2>/dev/null; return ;; esac
  done
}

_saltus() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=""
  local run="--until --from --method --rtol --atol --h0 --hmin --hmax --step --set --include --out --every
    --samples --all-steps --units --event-rows --max-steps --max-events --timeout -o --output --events --plot --report --detection --event-eps
    --gamma --sliding --zeno --native --threads --cyclic --seed --realtime --checkpoint --checkpoint-every --resume --replay --watch --quiet
    --help"
  local picture="--panel --phase --histogram --y2 --x --xrange --yrange --y2range --log --equal --title --xlabel --ylabel --y2label --legend --marks --bands --points --density --theme --size --view --ascii"
  local trial="--from --method --rtol --atol --hmax --set --report --quiet --help"
  COMPREPLY=()

  if ((COMP_CWORD == 1)); then
    words="run check explain measure sweep sens compare fit optimize steady linearize plot diff names convert export fmt lsp serve new gallery docs methods cache help --help --version"
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return
  fi

  # values of the option before
  case $before in
    --set) COMPREPLY=($(compgen -S = -W "$(_saltus_names constants)" -- "$word")); return ;;
    --out|--panel|--phase|--y2|--x)
      # a list: the last name of it is completed
      local list=""
      [[ $word == *,* ]] && list=${word%,*},
      COMPREPLY=($(compgen -P "$list" -W "$(_saltus_names variables)" -- "${word##*,}"))
      return ;;
    --method) words=$(saltus methods 2>/dev/null | awk 'NR > 1 { print $1 }') ;;
    --detection) words="certified combined extrapolation interpolation" ;;
    --event-rows) words="changes modes all none" ;;
    --sliding) words="on off utkin" ;;
    --zeno) words="auto stop dwell" ;;
    --native) words="auto on off" ;;
    --log) words="x y y2" ;;
    --legend) words="top right topleft topright bottomleft bottomright none" ;;
    --marks) words="all none" ;;
    --bands) words="on off" ;;
    --density) words="auto on off" ;;
    --theme) words="light dark" ;;
    --search) words="gradient simplex global" ;;
    --loss) words="squares huber cauchy" ;;
    --sample) words="grid random lhs sobol" ;;
    --trajectories) COMPREPLY=($(compgen -d -- "$word")); return ;;
    --until|--from|--rtol|--atol|--h0|--hmin|--hmax|--step|--include|--every|--samples|--histogram|--xrange|--yrange|--y2range|--title|--xlabel|--ylabel|--y2label|--size|--view|\
    --vary|--measure|--minimize|--maximize|--subject-to|--evaluations|--params|--bounds|--weight|--starts|--reach|--tol|--abs-tol|--time-tol|--correlate|--jobs|--threads|--event-eps|--gamma|--cyclic|--seed|--max-steps|--max-events|--timeout) return ;;
    -o|--output|--data|--events|--plot|--graph|--report|--checkpoint|--resume|--replay)
      COMPREPLY=($(compgen -f -- "$word"))
      return ;;
  esac
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return
  fi

  # options and files of the command
  local ending=lisma
  case ${COMP_WORDS[1]} in
    run) words="$run $picture" ;;
    check) words="--set --include --help" ;;
    measure) words="--until --measure --seed -o --output $trial" ;;
    sweep) words="--until --measure --vary --sample --correlate --seed --jobs -o --output --trajectories --resume --map --plot $trial" ;;
    sens) words="--until --measure --params --out --every --reach --differences --sobol --vary --seed -j --jobs -o --output --plot $trial" ;;
    fit) words="--data --params --bounds --weight --columns --loss --starts --seed -o --output --plot $trial" ;;
    steady) words="--at --state -o --output $trial" ;;
    linearize) words="--at --state --inputs --outputs --response --plot -o --output $trial" ;;
    optimize) words="--until --minimize --maximize --params --bounds --subject-to --search --evaluations --seed -o --output $trial" ;;
    compare) words="--until --data --tol --abs-tol --time-tol --plot $trial" ending=csv ;;
    fmt) words="--check --help" ;;
    export) words="-o --output --fmi --kind --sources --set --help" ;;
    explain) words="--json --ir --run --all --graph --set --include --help $run" ;;
    plot) words="-o --output --plot --events $picture --help" ending=csv ;;
    diff|names) words="--help" ;;
    cache) words="show path clear limit" ;;
    gallery) words="--copy --path --open --help $(saltus gallery 2>/dev/null | awk '{ print $1 }')" ending= ;;
    docs) words="--find --path --open --help $(saltus docs 2>/dev/null | awk '{ print $1 }')" ending= ;;
    help) COMPREPLY=($(compgen -W "run check explain measure sweep sens compare fit optimize steady linearize plot diff names convert export fmt lsp serve new gallery docs methods cache" -- "$word")); return ;;
    *) words="--help" ending= ;;
  esac
  if [[ $word == -* || ${COMP_WORDS[1]} == @(gallery|docs) ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [[ -n $ending ]]; then
    COMPREPLY=($(compgen -f -X "!*.$ending" -- "$word") $(compgen -d -- "$word"))
  fi
}

complete -o filenames -F _saltus saltus
