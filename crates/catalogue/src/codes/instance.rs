//! Codes of errors from calls to the library inside an instance.

use super::codes;

codes! {
    REGISTERING, "When a code takes part":

    AGENT_SILENT "agent-silent":
        "The environment is that of a run which has ended. Take a new one from `ligament join`";

    ANOTHER_USER "another-user":
        "The socket of the run's agent is another user's. Either the run is theirs, or it has ended and they \
         have taken its name: then they were told nothing. Only the user whose run it is can ask it or take \
         part";

    ALREADY_REGISTERED "already-registered":
        "Two `Instance`s in one program, or two processes with one name. A code that is started again needs \
         a new run";

    FENCE_REFUSED "fence-refused":
        "A container or a batch system filters the system calls of this program, but not of `ligament run`. \
         Without this call it could sleep through a message. Allow `membarrier`, or start all of the run \
         inside the same container";

    INSTANCE_UNKNOWN "instance-unknown":
        "Misspelt; `ligament status` lists them";

    NEEDS_MANUAL "needs-manual":
        "Say when the run begins which instances are started by hand";

    NOT_IN_A_RUN "not-in-a-run":
        "The code was started by itself. Start it with `ligament run`, or by hand with `ligament join`";

    LIGHT_INSTANCE "light-instance":
        "The library lends a light component its instance for as long as one of its functions runs ([Light \
         components](../guides/light-components.md))";

    NOT_LIGHT "not-light":
        "The program makes an `Instance`, which is one. Write it with `run_light`, or take it out of \
         `light:` in the model ([Light components](../guides/light-components.md))";

    RUNS_WITH_OTHERS "runs-with-others":
        "One process runs all instances of a light program, so one of them cannot be started by hand. Take \
         it out of `light:` for that";

    OTHER_USER "other-user":
        "Only the user who began a run can take part in it or ask it";

    OTHER_VERSION "other-version":
        "Library and command are of different versions. Rebuild the code against the one that is installed \
         (`ligament version`, `ligament config --libs`)";

    PORT_DECLARED_TWICE "port-declared-twice":
        "A port stands under two operators, or twice under one";

    PORTS_DO_NOT_FIT "ports-do-not-fit":
        "Code and model name different ports, operators, or vector ports. The message says which; change one \
         of the two";

    VECTOR_AND_SCALAR "vector-and-scalar":
        "Two codes see their conduit differently: one as a vector port, one as a scalar one";

    REGISTER_FAILED "register-failed":
        "The connection to the run broke off, most often because the run ends at this moment, or because \
         there is no memory or no descriptor left";

    TOKEN_OF_ANOTHER_RUN "token-of-another-run":
        "The run directory, or the environment, is that of an earlier run";
}

codes! {
    PORTS, "Ports and the loop":

    FILTER_FAILED "filter-failed":
        "A filter of the model cannot take a message. The text names conduit, filter, message time and cause. \
         Change the filter ([filters](filters.md)), what is sent, or say `on_error: skip` or `on_error: pass`";

    FORKED "forked":
        "After `fork` only the first process may call the library; data that was received stays readable. \
         Make the instance after forking";

    IN_ANOTHER_CALL "in-another-call":
        "An instance is used by one thread at a time, and not by a signal handler or a callback within a \
         call. The text says which call of which thread is in progress, and nothing was done. Let threads \
         take turns, for example under a lock";

    INITIAL_MESSAGE_UNREAD "initial-message-unread":
        "(warning in the log) The code does not receive on every `F_INIT` port in each pass";

    INITIAL_MESSAGE_USED "initial-message-used":
        "There is one message, for each slot, for each pass of the reuse loop";

    INSTANCE_OVER "instance-over":
        "A call after the loop. Do it within";

    ITERATIONS_APART "iterations-apart":
        "Filters of conduits count iterations, and what came is of another one than was due: a component sent \
         more or fewer messages than it has steps and passes ([Timelines](../concepts/timelines.md))";

    NEEDS_REUSE_LOOP "needs-reuse-loop":
        "`repeat` and `pad` give a message again in each pass of the reuse loop, so there must be one";

    NO_SUCH_PORT "no-such-port":
        "Misspelt, or not declared where the instance is made";

    NO_SUCH_SLOT "no-such-slot":
        "The model's multiplicities decide how many slots there are: ask `get_port_length`. A resizable port \
         has none until `set_port_length`";

    NOT_RESIZABLE "not-resizable":
        "Only a vector port that is joined to a vector port can be resized \
         ([Ensembles](../guides/ensembles-and-settings.md#vector-ports-joined-to-vector-ports))";

    ORDER_OF_CALLS "order-of-calls":
        "(warning in the log) The calls are not in the order of the loop; others may wait for each other \
         because of it. Call `reuse_instance()` between passes";

    SETTING_UNSET "setting-unset":
        "Set it in the model or with `-s`, or give `get_setting` a default";

    SETTING_WRONG_TYPE "setting-wrong-type":
        "`2` is an int, `2.0` a float, `\"2\"` a text";

    WHICH_SLOT "which-slot":
        "Give the slot";

    WRONG_OPERATOR "wrong-operator":
        "`receive` on a sending port, or `send` on a receiving one";
}

codes! {
    SENDING, "Sending":

    CANNOT_BE_SENT "cannot-be-sent":
        "Messages hold plain values, lists, maps with text as keys, and arrays of numbers. Turn the value \
         into these; objects of your own into a dict";

    NO_MESSAGE "no-message":
        "A port carries messages: a value and the model time, in s, that it belongs to. Write \
         `instance.send(\"out\", Message(t, data=value))`; `Message(t, t + dt, value)` also says when the \
         next one will be";

    MAPPER_INCOMPLETE "mapper-incomplete":
        "A mapper gives a dict, and makes a message for each slot of each of its O_F ports that is connected, \
         in each pass. What was meant to be nothing is sent as nothing (`None`, `null`)";

    LOAN_USED "loan-used":
        "A loan is sent once, on the instance that lent it";

    MESSAGE_TOO_LARGE "message-too-large":
        "The model limits how large a message may be, to find the code that sends too much. Send less at a \
         time, or raise `message_size` under `ligament:` ([Limits](limits.md))";

    TOO_DEEP_OR_MANY "too-deep-or-many":
        "A value is larger or deeper than can be sent. Send arrays instead of lists of numbers";

    NOT_A_TIME "not-a-time":
        "Model time is a finite number. NaN and infinity most often come from a division by a \
         step of 0. The next timestamp is that of the next message on the same port, so it cannot lie before \
         this one";

    SECOND_FINAL_MESSAGE "second-final-message":
        "A final message (`O_F`) ends a pass of the reuse loop, so there is one for each port, and each slot \
         of a vector port. Call `reuse_instance()` before the next one. What is sent many times in a pass \
         belongs on an `O_I` port";

    UNFIT_ARRAY "unfit-array":
        "Shape, strides, axis names and bytes of an array do not belong together, or it has more than 8 \
         dimensions";
}

codes! {
    RECEIVING, "Receiving":

    CLOSED "closed":
        "The sender ended its loop earlier than the receiver expects. Both have to take the same number of \
         steps; or catch the error, if that is how you end";

    MALFORMED_DATA "malformed-data":
        "What came is no message: another version of the library, memory overwritten by a fault in a code, \
         or a fault in Ligament. Use the same release on both sides; if that is so, please report it";

    NOT_AN_ARRAY "not-an-array":
        "The code takes an array, and something else was sent. Sender and receiver do not mean the same";

    NOT_CONNECTED "not-connected":
        "Connect it in the model, or receive with a default";

    NOT_HERE_YET "not-here-yet":
        "Each port of an operator can be received from once in the operator's function; ask `poll` before a \
         second time. With a time-out, nothing is waited for either ([Light \
         components](../guides/light-components.md))";

    ONLY_SETTINGS "only-settings":
        "Send `Settings` to `muscle_settings_in`";

    OTHER_SETTINGS "other-settings":
        "Members of an ensemble are mixed, or the blocks of one grid have different overlays. Check the \
         conduits; a code that means it calls `receive_with_settings`, or says `DONT_APPLY_OVERLAY` \
         ([Ensembles](../guides/ensembles-and-settings.md#overlays))";

    OTHER_SHAPE "other-shape":
        "The array has another shape than the code expects. An extent may be left open where the code says \
         what it expects; `receive_into` takes the shape as it is, and the message is used up";

    OTHER_TYPE "other-type":
        "The elements are of another type than the code expects, such as `float32` for `float64`. No array is \
         converted in silence: send the other type, convert it at the receiver, or put the filter `type` on \
         the conduit ([filters](filters.md)). `receive_into` has used the message up";

    TIMED_OUT "timed-out":
        "The time-out that the call was given is over";

    UNFIT_TO_RECEIVE_INTO "unfit-to-receive-into":
        "The array must be writable, with its elements next to each other, in this machine's byte order";

    READ_ONLY_ARRAY "read-only-array":
        "(NumPy says so) A received array is a view of where its sender put it, and others may read it too. \
         Change a copy, `array = message.data.copy()`, or receive into an array of your own, \
         `instance.receive_into(\"in\", array)` ([Large data](../guides/large-data.md))";
}

codes! {
    EXCHANGES, "When ranks exchange parts of an array":

    BAD_MAP "bad-map":
        "The part that `map` describes is not within the array that the model gives the port, or has an \
         element twice ([Exchanges](../guides/ranks.md#arrays)); or `map` was called too late in a pass of the \
         reuse loop ([Routing](../guides/spikes.md#routing))";

    BAD_FIELD "bad-field":
        "A field of a [grid](../guides/grids.md) cannot be: its ghosts are wider than a block, its name is \
         taken, or its array has another size than the block with its ghosts";

    BAD_MODULE "bad-module":
        "A [module](../guides/modules.md) cannot be loaded, its declaration has a mistake, or it does not go \
         with the other modules";

    BAD_PARAMETER "bad-parameter":
        "A setting of the model does not fit the parameter that a [module](../guides/modules.md) declares: it \
         is missing, of another type, or out of range";

    FIELDS_DIFFER "fields-differ":
        "Blocks of a [grid](../guides/grids.md) do not make the same calls. All of them exchange the same \
         fields, in the same order, at the same times";

    GRID_IN_EXCHANGE "grid-in-exchange":
        "An exchange of ghosts has two halves, `begin` and `end`, with the same fields; nothing else of the \
         grid stands between them";

    MAP_GAP "map-gap":
        "A rank wants an element that no rank of the sender has. Let one of them name it in `map`, or do \
         not ask for it";

    MAP_MISSING "map-missing":
        "A rank sends or receives its part of an array before it has said which part that is. Call `map` \
         first, or take the port out of `exchange:` if the code does not divide an array";

    MAP_OVERLAP "map-overlap":
        "Two ranks of the sender have the same element, so it is not clear which value counts. Each \
         element has one owner; receivers may have elements in common";

    MODULE_FAILED "module-failed":
        "A function of a [module](../guides/modules.md) gave up. The text says why, in the module's words";

    MODULE_ORDER "module-order":
        "The functions of [modules](../guides/modules.md) have no order: two must each come before the other, \
         two write one field and nothing says which comes first, a name in `before` or `after` is unknown, or \
         a function reads what no function has written before. `--plan` prints the order";

    NO_GRID "no-grid":
        "The code makes a `Domain`, and the model gives its component no [grid](../guides/grids.md)";

    NO_ARRAY_PORT "no-array-port":
        "Only ports that have `array:` under `exchange:` in the model have parts of an array";

    PARTS_DIFFER "parts-differ":
        "The ranks of the sender sent parts that do not belong together: of different times, types or \
         units. Let all ranks send the same kind of array at the same time";

    UNDECLARED_ACCESS "undeclared-access":
        "A function of a [module](../guides/modules.md) reads or writes a field, or asks for a parameter, that \
         it does not declare; or it has not written what it declares to write. Change the function or its \
         declaration. Most of this is found with `--poison` only";
}

codes! {
    CLOCKS, "When codes go by a clock":

    BAD_EVENT "bad-event":
        "An event has a time outside the tick in which it is inserted, or an id that the model or `map` does \
         not give the port ([Events](../guides/spikes.md#events))";

    EVENTS_UNREAD "events-unread":
        "Events that were delivered stay until the code reads them, and it ticks before it has. Call `events` \
         after each `tick`, for each port";

    NO_CLOCK "no-clock":
        "The code ticks, and the model gives it no tick under `ticks:` ([Clocks](../guides/spikes.md#clocks))";

    NO_EVENT_PORT "no-event-port":
        "A call for events was made for a port without events, or a call for messages for a port with events. \
         `events:` under `exchange:` in the model makes the difference";

    OFF_CLOCK "off-clock":
        "A sample of a signal does not have the time of the sender's clock, or a rank asked for another part \
         of a signal after its first sample ([Signals](../guides/spikes.md#signals))";

    SIGNAL_OVER "signal-over":
        "A code wants the value of a signal at a time that the sender has not reached before the end of its \
         pass. Let both run equally long";
}

codes! {
    ARGUMENTS, "Calls with wrong arguments":

    BAD_ARGUMENT "bad-argument":
        "An argument is none of those that there are. The message says which there are";

    BAD_SETTING_NAME "bad-setting-name":
        "Names have letters, digits, `_`, and `.` between their parts";

    BAD_SETTING_VALUE "bad-setting-value":
        "Settings are texts, numbers, truth values, and lists of numbers";

    ABSURD_SIZE "absurd-size":
        "A size or a number of items cannot be meant. Most often a negative number was made one without sign";

    BAD_SETTING_TEXT "bad-setting-text":
        "`-s` wants `name=value`, with the value as in a model file";

    BORROWED_STRIDES "borrowed-strides":
        "Copy it instead";

    CALLBACK_FAILED "callback-failed":
        "Write into its `lig_error` what is wrong, or return the status of the call that failed";

    CALLBACK_MISSING "callback-missing":
        "`lig_run_submodel` needs all of its functions";

    NO_SUCH_ENUMERATOR "no-such-enumerator":
        "A number that is none of the enumeration's";

    NO_SUCH_ITEM "no-such-item":
        "An index beyond the end of a list or map";

    NOT_UTF8 "not-utf8":
        "Names and texts of the C interface are UTF-8";

    NULL_ARGUMENT "null-argument":
        "Something must be given there. A `lig_value_new_…` that returned NULL had an argument that cannot \
         be";

    OPTIONS_SIZE "options-size":
        "A struct of options was not initialised: `{.size = sizeof options}`";

    NEWER_HEADER "newer-header":
        "The library that is loaded is older than the header, or a struct's `size` was not set to its \
         `sizeof`. Take the newer library";

    RESERVED_MEMBER "reserved-member":
        "The struct was not set to zero before it was filled";

    WRONG_VALUE_KIND "wrong-value-kind":
        "Ask `lig_value_kind` before reading or changing a value, or send what is expected";
}

codes! {
    SHIPPED, "Sources, sinks and mappers that come with Ligament":

    BAD_MESH "bad-mesh":
        "The points or cells that a mapping is made of cannot be used: another number of columns, a point that \
         is no number, a cell of a point that is not there, or no point at all ([Shipped \
         components](shipped.md#ligamentmappersmesh))";

    CANNOT_MAP "cannot-map":
        "A mapper takes other data than came: most often another shape, or another number of values than its \
         mesh has points";

    FILE_NOT_WRITTEN "file-not-written":
        "A file cannot be written; the text has the system's reason. What a sink had written until then is in \
         the file with `.part` at the end of its name. A file has its final name only if all of it is there";

    NO_AGREEMENT "no-agreement":
        "The components of an implicit coupling did not come within the limits in `max_iterations` iterations \
         of a window. A shorter window, a smaller `relaxation` or another `acceleration` may help; \
         `no_convergence: warn` goes on with a warning ([Implicit \
         coupling](../guides/implicit-coupling.md))";

    NOT_FINITE "not-finite":
        "A value of an implicit coupling is NaN or infinite, so nothing can be computed with it: a component \
         has diverged, or its limits and window let the iterations diverge. The message says which data, \
         window and iteration ([Implicit coupling](../guides/implicit-coupling.md))";

    WRONG_WINDOW "wrong-window":
        "A component of an implicit coupling computed to another time than the end of the window. The message \
         that it receives has the window's beginning as its timestamp, and the window's end as the next one; \
         it sends its values with the end as the timestamp ([Implicit \
         coupling](../guides/implicit-coupling.md))";

    MALFORMED_SOURCE "malformed-source":
        "The file of a source is not what it should be at the place that the message names. Holes in tables \
         can be gone over with the setting `holes` ([Shipped components](shipped.md#ligamentsourcescsv))";

    PYTHON_PACKAGE_MISSING "python-package-missing":
        "Sources and sinks of HDF5 and NetCDF use the packages h5py and netCDF4, which Ligament does not \
         bring. Install the one that is named for the Python that is named";

    SHIPPED_SETTING_WRONG "shipped-setting-wrong":
        "A setting of a shipped component cannot be, or does not go together with another one. [The page of \
         shipped components](shipped.md) has all of them";

    SINK_REFUSES "sink-refuses":
        "A sink cannot put this kind of data into its file. [The page of shipped components](shipped.md) says \
         what each takes";

    SOURCE_ENDS_EARLY "source-ends-early":
        "The file of a source ends before the time that its setting `until` names, or in the middle of a \
         message";

    SOURCE_UNREADABLE "source-unreadable":
        "A source cannot read its file; the text has the system's reason. A relative path is looked for in the \
         working directory of the process, where `stage:` puts files, and then beside the model file";
}

codes! {
    CHECKPOINTS, "Checkpoints":

    CHECKPOINT_CALLS "checkpoint-calls":
        "The calls for checkpoints have an order: `resuming`, `load_snapshot`, `should_init` once in each \
         pass, `save_snapshot` after each `should_save_snapshot` that is true, and the same at the end of a pass \
         ([Checkpoints](../guides/checkpoints.md))";

    CHECKPOINT_FLAGS "checkpoint-flags":
        "The model asks for checkpoints, and the code does not say what it keeps from one pass to the next. \
         Give the instance one of the flags `USES_CHECKPOINT_API`, `KEEPS_NO_STATE_FOR_NEXT_USE` and \
         `STATE_NOT_REQUIRED_FOR_NEXT_USE` ([Checkpoints](../guides/checkpoints.md))";

    CHECKPOINT_MISSING "checkpoint-missing":
        "The run has no whole checkpoint, or none of this number; `RUN/checkpoints` has those that are there";

    CHECKPOINT_UNREADABLE "checkpoint-unreadable":
        "A file of a checkpoint is cut short, changed, of another version, or not of this instance. Resume \
         from an earlier checkpoint";

    CHECKPOINT_UNSUPPORTED "checkpoint-unsupported":
        "The instance has something that checkpoints cannot save yet; the text names it";

    CHECKPOINT_UNWRITABLE "checkpoint-unwritable":
        "A file of a checkpoint cannot be written, most often because the disk is full. The run goes on, and \
         the checkpoint before stays";
}

codes! {
    MEMORY, "Memory":

    MEMORY_SPENT "memory-spent":
        "Raise `memory` under `ligament:`, lower the budgets, or free views earlier ([Large \
         data](../guides/large-data.md#memory))";

    MEMORY_OF_MACHINE "memory-of-machine":
        "The machine, or the limit of its control group, has no more. Ask the batch system for more";

    SYSTEM_REFUSES "system-refuses":
        "A call to the system failed while the library shared memory or spoke to its run. The text names the \
         call and has the system's reason. Most often a limit of open files or of memory is reached \
         (`ulimit -a`), or the run ends at this moment";
}
