# The names of runs and instances.
function __ligament_words
    commandline -opc | string match -v -- '-*'
end
complete -c ligament -f -n '__fish_seen_subcommand_from RUNS; and test (count (__ligament_words)) -eq 2' -a '(ligament names 2>/dev/null)'
complete -c ligament -f -n '__fish_seen_subcommand_from OTHERS; and test (count (__ligament_words)) -eq 3' -a '(ligament names (__ligament_words)[3] 2>/dev/null)'
