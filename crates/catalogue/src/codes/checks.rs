//! Codes of mistakes in a model, a site file or a case file.

use super::codes;

codes! {
    CHECKS, "Problems of a model, by code":

    ALIAS_EXPANSION "alias-expansion":
        "Aliases (`*name`) in the file expand to more values or more text than is read, or too deep. Write \
         the values out, or build the model in a script";

    BAD_ALIAS "bad-alias":
        "An alias refers to something that contains the alias itself. Write the value out";

    BAD_ARGUMENTS "bad-arguments":
        "A single text under `args` is made of words as a shell makes them, and this one has an open quote, or \
         asks for what only a script can do. Write a list, or a `script`";

    BAD_CASE "bad-case":
        "A value in a [case file](case-file.md) is none, or does not go with the others. The message says \
         which";

    BAD_CXA "bad-cxa":
        "(`ligament convert`) The cxa file of MUSCLE 2 has a mistake, a form of Ruby that is not read, or what \
         a model file cannot have; the message says what and where ([From MUSCLE \
         2](../guides/coming-from-muscle3-or-precice.md#from-muscle-2))";

    BAD_PRECICE "bad-precice":
        "(`ligament convert`) The configuration of preCICE is no XML, or has a mistake, or an element or an \
         attribute without a counterpart; the message says what and where \
         ([preCICE](../faces/precice.md#configuration))";

    BAD_TICK "bad-tick":
        "A tick, latency or delay is no whole number of nanoseconds; or a component needs a tick and has \
         none, or has one and cannot have a clock ([Clocks](../guides/spikes.md#clocks))";

    BAD_XMML "bad-xmml":
        "(`ligament convert`) The file is no XML, or no model in xMML 0.4, or it has what a model file cannot \
         have; the message says what and where ([From xMML](../guides/from-xmml.md))";

    BAD_CHECKPOINT "bad-checkpoint":
        "A checkpoint rule has both `at` and `every`, or neither, or stops before it starts. Make two rules \
         of it, or give `every` above zero";

    BAD_CONDUIT "bad-conduit":
        "An end of a conduit is not of the form `component.port` or `component.port[slot]`";

    BAD_CUSTOM_IMPLEMENTATION "bad-custom-implementation":
        "A path under `custom_implementations` is not a model's name with components after it, or leads into \
         something that no model implements";

    BAD_EXCHANGE "bad-exchange":
        "An [exchange](../guides/ranks.md#from-all-ranks-to-all-ranks) carries something else than messages, \
         an array, [events or a signal](../guides/spikes.md), or does not fit the ports that it joins";

    BAD_FILTER "bad-filter":
        "A filter of a conduit has a parameter that cannot be, lacks one, or stands at the wrong end. [The \
         page of filters](filters.md) has all of them";

    BAD_GRID "bad-grid":
        "A [grid](../guides/grids.md) cannot be divided into its blocks, or its blocks cannot be the \
         instances or ranks of its component";

    BAD_IMPORT "bad-import":
        "An import is not of the form `from module import implementation name`";

    BAD_INPUT_NAME "bad-input-name":
        "What is staged would be called something that leads out of the working directory, or has no name. \
         Write `name: file`";

    BAD_KEY "bad-key":
        "A key is a list, a mapping or nothing, where a name belongs";

    BAD_MERGE "bad-merge":
        "What stands after the merge key `<<` is no mapping. Refer to one with `*name`";

    BAD_NAME "bad-name":
        "A name has letters other than a–z, digits and `_`, begins with a digit, is empty, or has an index \
         where none may be";

    BAD_PATH "bad-path":
        "A path in a site file is relative, and agents start anywhere. Begin it with `/` or with a variable";

    BAD_RESOURCES "bad-resources":
        "Resources are asked for in a mixture of ways. Give `threads`, or `mpi_processes`, or `nodes` with \
         `mpi_processes_per_node`";

    BAD_SCALE "bad-scale":
        "A [scale](model-file.md#scales) is a number above zero with a unit of time or of length, such as `1 \
         ms`, `2 years` or `0.5 mm`; no step is longer than what it is a step of";

    BAD_SETTING "bad-setting":
        "The value of a setting is of none of the types that settings have. The message names them";

    BAD_SITE "bad-site":
        "A value in a site file is none, or does not go with the others. The message says which; [Site \
         files](site-file.md) has all keys";

    BAD_STEERABLE "bad-steerable":
        "A setting under [`ligament: steerable:`](model-file.md#steerable) has a range without values";

    BAD_SIZE "bad-size":
        "A size is not a number of bytes. Write for example `64 MiB`";

    BAD_UNIT "bad-unit":
        "What is given as the unit of a port is none. [The page of filters](filters.md#unit) says what a unit \
         is made of";

    BAD_VALUE "bad-value":
        "A value cannot be read as what its tag, such as `!!int`, says. Remove the tag, or correct the value";

    CANNOT_READ_FILE "cannot-read-file":
        "The system refuses the file, or it is none: a directory, a pipe, a device. Check its name and its \
         permissions";

    CONDUIT_CYCLE "conduit-cycle":
        "Conduits join ports of models in a circle, so that no component sends. Remove one of them";

    DEADLOCK_AHEAD "deadlock-ahead":
        "Components wait for each other, which follows from the order F_INIT, O_I, S, O_F without running \
         them. The message names who waits for which port of whom, and what would break the circle. See \
         [deadlocks before a run](../concepts/deadlocks-ahead.md)";

    DUPLICATE_KEY "duplicate-key":
        "A key stands twice in one mapping. YAML would take one of the two without a word; remove one";

    DUPLICATE_NAME "duplicate-name":
        "Two things that are looked up by name in the same place have one name. Rename one";

    DUPLICATE_PORT "duplicate-port":
        "A component declares a port twice, perhaps under two operators";

    DUPLICATE_PROGRAM "duplicate-program":
        "Two files, or one, define a program of the same name. Remove or rename one";

    EXCHANGE_LOOP "exchange-loop":
        "Exchanges of events or signals lead around a loop, and their latencies are together shorter than the \
         times that they cover: no component could begin ([Clocks](../guides/spikes.md#loops))";

    FILE_TOO_LARGE "file-too-large":
        "The file is larger than is read. Split it, or build the model in a script";

    FILTER_ORDER "filter-order":
        "The filters of a conduit stand in the wrong order. It is last, repeat, pad";

    IMPORT_BROKEN "import-broken":
        "A Python package has an entry point for a module, and Python cannot import what it names, or that is \
         no text. The message says what Python said";

    IMPORT_CLASH "import-clash":
        "What is imported has the name of something in this file; or (warning) several Python packages bring a \
         module of this name. Rename or remove one";

    IMPORT_CYCLE "import-cycle":
        "Modules import each other in a circle. Move what both need into a module of its own";

    IMPORT_NOT_FOUND "import-not-found":
        "There is no file for a module, no Python package brings it, or nothing of that name is in it. \
         `YMMSL_PATH` has to lead to it";

    LIGHT_MPI "light-mpi":
        "A program under `light` is started as an MPI program, but its instances share one process. Take it \
         out, or start it directly";

    LIGHT_RANKS "light-ranks":
        "A component has ranks, which are processes, and its program is under `light`, whose instances share \
         one process. Take it out of one of them";

    MAY_FAIL_FOR_NOBODY "may-fail-for-nobody":
        "What stands under `may_fail` is no component of the model";

    MAY_FAIL_TOGETHER "may-fail-together":
        "A component is to fail without the others, and does not run by itself: its program is light, so \
         others share its process, or it has ranks, which need each other. Take it out of `may_fail`, or out \
         of `light` or `ranks`";

    MISSING_EXECUTABLE "missing-executable":
        "An executable is not there, or not in `PATH`. Build or install it, or correct the path; \
         `--elsewhere` leaves this out";

    MISSING_IMPLEMENTATION "missing-implementation":
        "(warning) A component does not say what implements it, so it is left out, with its conduits. Add \
         `implementation:`, or say `optional: true` if that is meant";

    MISSING_FUNCTION "missing-function":
        "The file of a Python function is not there, or the function's name stands nowhere in it. The file is \
         looked for beside the model file and among the inputs under `stage`, and is only read, never run; \
         `--elsewhere` leaves this out";

    MISSING_INPUT "missing-input":
        "A file or directory that `stage` is to put into a working directory is not there. A path is \
         relative to the file that names it; `--elsewhere` leaves this out";

    MISSING_KEY "missing-key":
        "A key that must be there is not. The message says which";

    MISSING_PORT_NAME "missing-port-name":
        "An end of a conduit names a component and no port";

    MISSING_RESOURCES "missing-resources":
        "An MPI program is used, and nothing says with how many processes. Add it under `resources:`";

    MISSING_SCRIPT "missing-script":
        "The script that an interpreter is to run is not there, neither beside the file that names it nor \
         among the inputs under `stage`. A path is relative to that file; `--elsewhere` leaves this out";

    MISSING_VALUE "missing-value":
        "A conduit leads nowhere: its receiver is missing";

    MISSING_VERSION "missing-version":
        "The file does not begin with `ymmsl_version:`";

    MISSING_VIRTUAL_ENV "missing-virtual-env":
        "What `virtual_env` names is no Python environment on this machine: it has no `bin/python`. Make it, \
         or correct the path";

    MODEL_CYCLE "model-cycle":
        "A model contains itself, directly or through others";

    MPIRUN_FOR_NOTHING "mpirun-for-nothing":
        "`mpirun:` under `ligament:` names a command for a program that is no MPI program. Set its \
         `execution_model`, or name it under `mpich:`";

    MULTIPLICITY_MISMATCH "multiplicity-mismatch":
        "The sets of instances at the two ends of a conduit do not fit: more than one dimension apart, or of \
         different lengths. See [Conduits](model-file.md#conduits)";

    NAME_TOO_LONG "name-too-long":
        "An instance's name is that of its directory, and the system takes no name of more than 255 letters. \
         The names of the components that contain it, and its indices, are part of it. Shorten them";

    NESTED_TOO_DEEP "nested-too-deep":
        "Models contain each other, or modules import each other, more than 64 deep. Put some of them \
         together";

    NO_MODEL "no-model":
        "The files have programs or settings, but no model to run";

    NOT_A_MODEL "not-a-model":
        "The file is not a mapping of keys to values, so it is no model file";

    NOT_EXECUTABLE "not-executable":
        "The executable is there, but is a directory or may not be executed (`chmod +x`), or it is a script \
         whose first line does not name what runs it. Write `executable: python3` and `args: micro.py` for a \
         script";

    NOTHING_TO_START "nothing-to-start":
        "A program has neither an executable nor a script";

    ONE_ARGUMENT "one-argument":
        "An item of the list under `args` is one argument, whatever spaces are in it, and this one looks like \
         several. Write them apart: `args: [-u, micro.py]`. A warning where the program may take it as it is";

    PLACE_FOR_NOBODY "place-for-nobody":
        "Something is placed in a domain that is no component of the model and no instance of one";

    PLACED_TWICE "placed-twice":
        "A component or an instance stands in two domains under `place`. Remove one";

    PORT_DIFFERS "port-differs":
        "A component and its implementation give a port to different operators. Make both the same";

    PORT_NOT_IMPLEMENTED "port-not-implemented":
        "A component has a port that its implementation does not have";

    RANKS_AND_PROCESSES "ranks-and-processes":
        "`ranks` and `resources` give an MPI program different numbers of processes. Give both the same";

    RANKS_DIFFER "ranks-differ":
        "A conduit joins two components with ranks, rank to rank, and they have different numbers of them. See \
         [Ranks that speak for themselves](../guides/ranks.md)";

    RANKS_FOR_NOBODY "ranks-for-nobody":
        "What stands under `ranks` is no component of the model";

    RANKS_OVER_NODES "ranks-over-nodes":
        "All ranks that speak for themselves run where their agent runs, so they cannot be on several nodes. \
         Ask for `mpi_processes`";

    RESOURCES_FOR_NOBODY "resources-for-nobody":
        "(warning) Resources are asked for what is no component";

    RESOURCES_MISMATCH "resources-mismatch":
        "Threads are asked for an MPI program, or MPI processes for one that is none";

    START_AND_STEPS "start-and-steps":
        "(warning) A port that sends in each step leads to an F_INIT port and to an S port of one component. \
         Each of its messages arrives at both, so the component begins a pass for each, beside the steps that \
         it makes with them. Send what begins a pass on a port of its own, or let a \
         [filter](../concepts/timelines.md) pass what is needed";

    SCALES_APART "scales-apart":
        "(warning) The [scales](model-file.md#scales) of two components do not fit: what is called in a step \
         covers more time than the step";

    SCALES_FOR_NOBODY "scales-for-nobody":
        "What stands under `scales:` is not the name of a component. Scales are those of a component, without \
         an index";

    SCRIPT_AND_MORE "script-and-more":
        "A program has a script and also what only goes with an executable. Do it in the script";

    SELF_CONDUIT "self-conduit":
        "(warning) A conduit joins a component to itself, so each of its instances receives what it has sent. \
         Neighbours in a grid are joined by [`grids`](../guides/grids.md)";

    SETTING_FOR_NOBODY "setting-for-nobody":
        "(warning) A setting names a component, or an instance, that is not there";

    SETTING_TYPE "setting-type":
        "A setting is of another type than its program expects: `2` is an int, `2.0` a float. Where it can \
         be converted this is a warning";

    SEVERAL_DOCUMENTS "several-documents":
        "The file has a second YAML document after `---`";

    SEVERAL_MODEL_FILES "several-model-files":
        "Two files define models. Put them into one, or import one from the other";

    SEVERAL_MODELS "several-models":
        "More than one model could be run. Say which, with `--model NAME`";

    SHIPPED_SETTING "shipped-setting":
        "A source, sink or mapper that comes with Ligament lacks a setting, or has one that cannot be. [The \
         page of shipped components](shipped.md) has all of them";

    SLOT_AND_MULTIPLICITY "slot-and-multiplicity":
        "A slot is given where the multiplicities decide already";

    SLOT_ON_MODEL "slot-on-model":
        "A slot is given on a port of a model; only components that a program implements have slots";

    SLOT_TOO_LARGE "slot-too-large":
        "The number of a slot is beyond all sense. Slots are numbered from 0";

    STAGE_FOR_NOBODY "stage-for-nobody":
        "Under `stage` stands what is no component of the model and no instance of one";

    STAGED_TWICE "staged-twice":
        "Two inputs of a component or an instance have the same name. Write `name: file` for each, with \
         different names";

    STARTED_IN_TWO_WAYS "started-in-two-ways":
        "A program stands under `mpich:`, and has an `execution_model` that says otherwise. Remove one of \
         them";

    TIMELINE_MISMATCH "timeline-mismatch":
        "A conduit joins timelines that do not fit: one end sends more often, or within other steps, than the \
         other receives. `last`, `repeat` and `pad` bridge them, and `matching_timelines` declares that two \
         are the same ([Timelines](../concepts/timelines.md)). A warning where the model has no filters and \
         names no timelines: then no message depends on them";

    TOO_DEEP "too-deep":
        "Lists and mappings are nested deeper than is read; often a bracket is open";

    TOO_LARGE "too-large":
        "The model has more instances, ports, conduits or channels than is possible, most often because \
         nested models or multiplicities multiply. Reduce them, or allow more with `instances:` under \
         `ligament:`";

    TWO_SENDERS "two-senders":
        "Two conduits lead to one port, which has one sender. Give the component a port for each";

    UNCONNECTED_PORT "unconnected-port":
        "(warning) No conduit leads to a receiving port, or to one of its slots: the code will find nothing \
         there, which is fine if it receives with a default";

    UNITS_DIFFER "units-differ":
        "A filter converts from another unit than that in which data comes to it, or the port at the end of a \
         conduit takes another one (`units` under `ligament:`). The message names both";

    UNKNOWN_COMPONENT "unknown-component":
        "A conduit names a component that the model does not have";

    UNKNOWN_CONDUIT "unknown-conduit":
        "A budget is given for a conduit or port that the model does not have";

    UNKNOWN_FILTER "unknown-filter":
        "The filters that stand in a conduit are last, repeat and pad; those under `ligament: filters:` are on \
         [the page of filters](filters.md)";

    UNKNOWN_IMPLEMENTATION "unknown-implementation":
        "A component is to be implemented by a program or model that is neither defined nor imported";

    UNKNOWN_KEY "unknown-key":
        "A key is misspelt, or of the other version of yMMSL";

    UNKNOWN_LIGHT "unknown-light":
        "A name under `light` is no program's";

    UNKNOWN_MODEL "unknown-model":
        "The model that was asked for is not in the files";

    UNKNOWN_MPI_PROGRAM "unknown-mpi-program":
        "What stands under `mpich:` or `mpirun:` is no program";

    UNKNOWN_OPERATOR "unknown-operator":
        "Ports stand under `f_init`, `o_i`, `s` and `o_f`; on a timeline of their own only `o_i` and `s`";

    UNKNOWN_PORT "unknown-port":
        "A conduit names a port that the component, or the model, does not declare; or a unit is given for a \
         port that no conduit has";

    UNKNOWN_SETTING "unknown-setting":
        "(warning) No program says that it knows this setting: most often misspelt";

    UNKNOWN_TAG "unknown-tag":
        "A YAML tag means nothing in a model file. Remove it";

    UNKNOWN_TYPE "unknown-type":
        "The type of a supported setting is not one of those that there are";

    UNKNOWN_VERSION "unknown-version":
        "The version of yMMSL is neither v0.1 nor v0.2";

    UNKNOWN_WORD "unknown-word":
        "A value is not one of the words that may stand there. The message lists them";

    UNRESOLVED_IMPORT "unresolved-import":
        "A model made in code uses something imported that has not been loaded";

    WAIT_NOT_YET "wait-not-yet":
        "`wait: spin` and `wait: park` (or `--wait`) are not done yet; instances wait as `auto` says. Only \
         the speed depends on it: `--ignore wait`";

    WAITING_CIRCLE "waiting-circle":
        "Components wait at F_INIT for each other, so none can start. Let one receive on `S`, within its \
         loop";

    WRONG_DIRECTION "wrong-direction":
        "A conduit leads from a port that receives, or to one that sends. Exchange its ends";

    WRONG_TYPE "wrong-type":
        "A value is of another type than belongs there, most often text for a number or a word for a mapping";

    YAML_SYNTAX "yaml-syntax":
        "The file is no YAML: an indentation, a tab, an open bracket or quote. Look also at the line above";
}
