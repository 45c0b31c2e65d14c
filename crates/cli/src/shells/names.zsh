# The names of runs and instances.
_ligament_runs() {
    local -a names
    names=(${(f)"$(ligament names 2>/dev/null)"})
    compadd -a names || _default
}
_ligament_instances() {
    local -a names given
    given=(${words:#-*})
    names=(${(f)"$(ligament names ${given[2]:-latest} 2>/dev/null)"})
    compadd -a names || _default
}
