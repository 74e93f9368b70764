# Completion of `catena` for bash. What it knows stands in the table that `catena --describe` printed
# when the program was built, installed as share/catena/describe.tsv.
_catena_table=${BASH_SOURCE[0]%/*}/../../catena/describe.tsv

# Fields of the table's lines of one kind, and of one command unless that is empty.
_catena_lines() {
  awk -F '\t' -v kind="$1" -v command="$2" \
    '$1 == kind && (command == "" || $2 == command) { print }' "$_catena_table" 2>/dev/null
}

# Options of a command: of the table, of scripts from their help.
_catena_options() {
  if [[ -n $(_catena_lines script "$1") ]]; then
    "${COMP_WORDS[0]}" "$1" --help 2>/dev/null | grep -oE -- '(^|[ ,[])--?[a-z][a-z-]*' | tr -d ' ,[' | sort -u
  else
    _catena_lines option "$1" | cut -f 3 | tr ',' '\n'
  fi
}

# Type of an option's value; nothing for flags and unknown ones.
_catena_type() {
  _catena_lines option "$1" | awk -F '\t' -v name="$2" '{ n = split($3, names, ",")
    for (i = 1; i <= n; ++i) if (names[i] == name) print $4 }'
}

# Keys that begin as $1 does, up to the next dot or with "=", or after "=" the words of a key; without the
# prefix $2. A name of the user's own is as it was typed.
_catena_keys() {
  _catena_lines key "" | awk -F '\t' -v typed="$1" -v above="$2" '
    BEGIN {
      equals = index(typed, "=")
      n = split(equals ? substr(typed, 1, equals - 1) : typed, part, ".")
      if (n == 0) n = 1
    }
    {
      path = substr($2, 1, length(above)) == above ? substr($2, length(above) + 1) : ""
      if (path == "") next
      m = split(path, key, ".")
      if (m < n || (equals && m != n)) next
      prefix = ""
      for (i = 1; i < n + (equals > 0); ++i) {
        if (key[i] != part[i] && !(key[i] == "*" && part[i] != "")) next
        prefix = prefix part[i] "."
      }
      if (equals) {
        count = split($3, words, " ")
        for (i = 1; i <= count; ++i) print substr(typed, 1, equals) words[i]
      } else if (key[n] != "*" && substr(key[n], 1, length(part[n])) == part[n]) {
        found = prefix key[n] (m > n ? "." : "=")
        if (!seen[found]++) print found
      }
    }'
}

_catena() {
  COMPREPLY=()
  # the word under the cursor as it stands in the line: bash cuts words at "=" and ":"
  local line=${COMP_LINE:0:COMP_POINT}
  local -a words
  read -ra words <<<"$line"
  local current=""
  if [[ $line != *[[:space:]] ]]; then
    current=${words[-1]}
    unset 'words[-1]'
  fi
  local command="-" previous="" word
  for word in "${words[@]:1}"; do
    if [[ $command == - && $word != -* ]]; then command=$word; fi
    previous=$word
  done

  local type="" candidates=""
  if [[ $previous == -* && $command != - ]]; then type=$(_catena_type "$command" "$previous"); fi
  if [[ $current == --*=* && $type == "" ]]; then
    type=$(_catena_type "$command" "${current%%=*}")
    previous=${current%%=*}
    current=${current#*=}
  fi
  case $type in
    PATH=VALUE) candidates=$(_catena_keys "$current" "") ;;
    KEY=VALUE) candidates=$(_catena_keys "$current" "solver.") ;;
    DIR) compopt -o filenames 2>/dev/null; candidates=$(compgen -d -- "$current") ;;
    *FILE*) compopt -o filenames 2>/dev/null; candidates=$(compgen -f -- "$current") ;;
    *"|"*) candidates=${type//|/$'\n'} ;;
    ?*) return ;;
    "")
      if [[ $command == - && $current != -* ]]; then
        candidates=$({ _catena_lines command ""; _catena_lines script ""; } | cut -f 2)
      elif [[ $current == -* ]]; then
        candidates=$(_catena_options "$command")
      else
        compopt -o filenames 2>/dev/null
        candidates=$(compgen -f -- "$current")
        # of a folder's files those that the command reads; folders lead to further ones
        if [[ -n $(_catena_lines argument "$command" | awk -F '\t' '$3 == "CASE"') ]]; then
          candidates=$(compgen -d -- "$current"; grep -E '\.ya?ml$' <<<"$candidates")
        fi
      fi
      ;;
  esac

  # what stands before the last "=" is not in the word that bash replaces
  local kept=""
  if [[ $COMP_WORDBREAKS == *=* && $current == *=* ]]; then kept=${current%"${current##*=}"}; fi
  while IFS= read -r word; do
    if [[ -n $word && $word == "$current"* ]]; then COMPREPLY+=("${word#"$kept"}"); fi
  done <<<"$candidates"
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[.=] && $type == *=VALUE ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _catena catena
