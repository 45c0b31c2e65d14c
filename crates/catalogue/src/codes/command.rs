//! Codes of `ligament play`, and of commands that ask about a run.

use super::codes;

codes! {
    PLAY, "Trying one submodel alone":

    CASE_UNREADABLE "case-unreadable":
        "`ligament play` cannot use the case, or has no place for its run. What is wrong within a case is \
         told with line and column, and has the code `bad-case` ([Case file](case-file.md))";

    CASE_DIFFERS "case-differs":
        "The submodel answers otherwise than the case expects. The message names the line of the case, the \
         port, the model time and the place in the value. `tolerance:` admits numbers that are near ([Case \
         file](case-file.md))";

    RECORDING_STOPPED "recording-stopped":
        "The recording of an instance (`ligament run --record`) cannot be written, most often because the disk \
         is full. The run goes on, and the recording holds what came before ([Record and \
         replay](../guides/record-and-replay.md))";

    REPLAY_DIFFERS "replay-differs":
        "The code does something else than when it was recorded: the message names the first difference, with \
         port, model time, place and both values ([Record and replay](../guides/record-and-replay.md))";

    REPLAY_UNUSABLE "replay-unusable":
        "An instance cannot be recorded, or there is no recording of it, or its program is not known. The text \
         says why ([Record and replay](../guides/record-and-replay.md))";
}

codes! {
    ASKING, "Asking about a run":

    INCOMPLETE_INSTALLATION "incomplete-installation":
        "`ligament config` was asked of a command that stands alone, such as one in a build tree, or the \
         Python package is not as its wheel installs it. Install it";

    CONVERTER_UNUSABLE "converter-unusable":
        "`ligament convert` has configurations of preCICE read by the program `precice-to-ligament` of the \
         package `ligament-precice`. The program is not installed, or cannot be run \
         ([preCICE](../faces/precice.md))";

    STARTER_NOT_MADE "starter-not-made":
        "`ligament new` makes a directory of the name that it is given. The name is also that of files, \
         programs and classes. Nothing is overwritten";

    LOG_UNWRITABLE "log-unwritable":
        "The system refuses the run's log: permissions, or a full disk";

    NO_SCALES "no-scales":
        "`ligament scales` shows what stands under [`ligament: scales:`](model-file.md#scales), and nothing \
         stands there";
    BAD_COSTS "bad-costs":
        "The file of costs cannot be used with this model: the message has the line. [Costs of a \
         model](costs-file.md) says what it may hold";

    CANNOT_PREDICT "cannot-predict":
        "`ligament predict` plays the run that the costs describe. It would stop, or have more steps than can \
         be played; the message says which. A run of fewer steps tells as much";

    NO_COSTS "no-costs":
        "Nothing can be predicted of what has no costs. Take them from a run of the same components \
         (`--from`), or add them to the file of costs";

    NO_SUCH_CODE "no-such-code":
        "`ligament explain` lists the codes";

    NO_SUCH_RUN "no-such-run":
        "`RUN` is a directory, a name below `runs` in this directory, or `latest`. Go to where the run was \
         started";

    NO_TIMELINE "no-timeline":
        "The model turns it off, or the run could not write it: the run's log says";

    NOT_RUNNING "not-running":
        "The run has ended; `ligament status` says how, `ligament logs` why";

    MANAGER_LOST "manager-lost":
        "The run's process and its guard are gone, with nobody left to write down why: both were killed, or \
         the machine was switched off. The message has the run's last sign, and what its \
         [journal](journal.md) has last. Nothing of the run is left on that machine";

    MANAGER_SILENT "manager-silent":
        "(while attached) The manager is on another machine, and has not said how the run stands for a \
         while: it is very busy, stopped, cut off from the file system, or gone. `ligament attach` waits on; \
         if it is a job, its queue says whether it lives";

    NOTHING_TO_SEE "nothing-to-see":
        "`ligament peek RUN INSTANCE` lists what there is. Names are those below the instance's working \
         directory; links that lead elsewhere are not followed. An agent that does not answer is cut off \
         just now, or its machine is overloaded";

    CANNOT_SERVE "cannot-serve":
        "`ligament view` serves its page at a port of this machine's loopback interface, or at a Unix socket. \
         Another program has that place, or the directory cannot be written. Without `--port`, any free port \
         is taken";

    METRICS_TOKEN "metrics-token":
        "`--metrics-token` of `ligament view` names a file with the bearer token for `/metrics`, which only \
         its user may read ([Metrics](metrics.md)). A file that is not there is made";

    TOO_MANY_WATCH "too-many-watch":
        "A run tells 32 clients at a time how it stands; each page of `ligament view` is one, whatever the \
         number of browsers that show it. End one that nobody needs";

    BAD_SLICE "bad-slice":
        "A slice is written as NumPy has it between brackets: an index or `from:to:step` for each axis, with \
         commas between them ([Watching a run](../guides/watching-a-run.md#taps))";

    TAP_REFUSED "tap-refused":
        "A tap shows what a port of an instance sends that takes part in the run. The text \
         says which ports there are, or what else stands in the way ([Watching a \
         run](../guides/watching-a-run.md#taps))";

    TAP_TOO_EARLY "tap-too-early":
        "The instance does not take part in the run yet: its program has been started, or waits to be. Ask \
         again in a moment; `ligament tap` does so by itself";

    NOT_SHOWN "not-shown":
        "What the port sends cannot be shown as it was asked for: it has more bytes than the tap has room for, \
         or not the key, the axis or the index. Ask for less of it, or for something that is there";

    NOT_STEERABLE "not-steerable":
        "A setting changes while a model runs only if the model says so, under [`ligament: \
         steerable:`](model-file.md#steerable), or the code. `ligament steer RUN` lists what can be steered \
         ([Steering](../guides/steering.md))";

    BAD_STEERING "bad-steering":
        "What `ligament steer` was given is not `name=value`, or the value has another type than the setting, \
         or is out of the range that the model declares. Nothing has changed";

    STEERING_REFUSED "steering-refused":
        "A change is made by all whom it concerns at one model time, or by nobody: somebody has passed that \
         time, never calls `steer`, did not answer in time, or has ended; or the change was withdrawn. The \
         message says which. Nothing has changed, and nobody waits for it any more \
         ([Steering](../guides/steering.md))";

    RUNS_ELSEWHERE "runs-elsewhere":
        "The head of the run is on another machine. Stop it there, or cancel its job; it alone knows of all \
         instances";

    NO_PNG "no-png":
        "Install it, or write an SVG";

    OUTPUT_CANNOT_SHRINK "output-cannot-shrink":
        "(warning in the log) The run directory lies on a file system without holes in files. Print less, or \
         put it elsewhere";

    OUTPUT_LOST "output-lost":
        "What a command says goes to a file on a full disk, or to one that was closed. Its exit status is 1; \
         a run is not concerned";

    RUN_HAS_NO_INSTANCE "run-has-no-instance":
        "Misspelt; one of several has an index, to be quoted in a shell: `'micro[3]'`";

    RUN_SILENT "run-silent":
        "The run ends at this moment, or its process is stopped. Ask again";

    RUN_HALTED "run-halted":
        "Ctrl-Z stops `ligament run` and not its instances, which soon wait for it. `fg` in the terminal \
         where it was started, or `kill -CONT` with the number of the process, lets it go on; nothing is \
         lost. To leave a run alone and go on in the terminal, start it with `--detach`";

    RUN_UNREADABLE "run-unreadable":
        "`run.json` or `token` in the run directory is missing, damaged, or another user's";

    TIMELINE_DAMAGED "timeline-damaged":
        "Something else has written to the run's timeline, or the disk is at fault; the text says where in \
         the file. Other runs are not concerned";

    TIMELINE_NEWER "timeline-newer":
        "A later Ligament made the run. Use that one";

    TIMELINE_STOPPED "timeline-stopped":
        "(warning in the log) The run directory cannot be written any more, most often a full disk. The run \
         goes on without";
}
