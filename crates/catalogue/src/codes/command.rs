//! Codes that bear on the commands that ask about a run, and on `ligament play`.

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
}

codes! {
    ASKING, "Asking about a run":

    INCOMPLETE_INSTALLATION "incomplete-installation":
        "`ligament config` was asked of a command that stands alone, such as one in a build tree, or the Python \
         package is not as its wheel installs it. Install it";

    STARTER_NOT_MADE "starter-not-made":
        "`ligament new` makes a directory of the name that it is given. The name is also that of files, programs \
         and classes. Nothing is overwritten";

    LOG_UNWRITABLE "log-unwritable":
        "The system refuses the run's log: permissions, or a full disk";

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
