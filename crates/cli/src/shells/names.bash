# The names of runs and instances, before what clap knows.
_ligament_names() {
    local before=() word i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        [[ $word == -* ]] || before+=("$word")
    done
    local current=${COMP_WORDS[COMP_CWORD]} names=""
    if [[ $current != -* ]]; then
        case "${#before[@]}:${before[0]}" in
            RUNS) names=$("${COMP_WORDS[0]}" names 2>/dev/null) ;;
            OTHERS) names=$("${COMP_WORDS[0]}" names "${before[1]}" 2>/dev/null) ;;
        esac
    fi
    if [[ -n $names ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
        [[ ${#COMPREPLY[@]} -gt 0 ]] && return 0
    fi
    _ligament "$@"
}
complete -F _ligament_names -o nosort -o bashdefault -o default ligament
