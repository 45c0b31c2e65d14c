//! Codes of the start and the end of a run, and of the connections between its machines.

use super::codes;

codes! {
    BEGINS, "When a run begins":

    AGENTS_MISSING "agents-missing":
        "A run over several domains waits for all of them. On the machine of the missing one `ligament \
         agent` was not started, or cannot reach the head: a firewall, or another interface (`--listen`, \
         `--ports`; [Domains](domains.md))";

    CANNOT_JOIN "cannot-join":
        "An agent could not join its run. The text has the reason: the run was ended, or did not begin, \
         before the agent could take part; or the agent does not know which of the run's domains it is. \
         Without `--domain` it is the number of its task as `srun` or `mpirun` says it, plus 1 \
         ([Domains](domains.md#beginning-by-hand))";

    CANNOT_LISTEN "cannot-listen":
        "The address, the interface or the ports at which other machines are to reach this one (`--listen`, \
         `--ports`, or the site's file) are not there, or are taken by other programs. `ip address` shows \
         the interfaces of this machine";

    CANNOT_WATCH "cannot-watch":
        "The system refuses what every run needs: a process, a socket, a descriptor. The text has its \
         reason; most often a limit of processes or of open files (`ulimit -a`)";

    DIRECTORY_IN_USE "directory-in-use":
        "`--run-dir` names the directory of an earlier run. Results are never overwritten";

    DIRECTORY_NOT_EMPTY "directory-not-empty":
        "`--run-dir` names a directory that has files in it, perhaps that of the model itself, where a run \
         would write its own `model.ymmsl`. Name a directory that is empty or not there yet";

    EXECUTABLE_MISSING "executable-missing":
        "A path with `/` is relative to the file that names it; others are looked up in `PATH`, also in that \
         of a virtual environment. On a machine that does not see it, [stage \
         it](../guides/files.md#where-nothing-is-in-common)";

    EXECUTABLE_NOT_EXECUTABLE "executable-not-executable":
        "The file is there, and may not be run by you, or is a directory";

    INPUT_NOT_STAGED "input-not-staged":
        "A file or directory under `stage:` cannot be brought to where its instances run, so nothing was \
         started. The text has the reason. Instances of a [light program](../guides/light-components.md) \
         share a process and its directory, so an input has one meaning for all of them ([Files of a \
         run](../guides/files.md))";

    INSTANCE_OF_NO_MODEL "instance-of-no-model":
        "`--manual` names an instance that is not there. One of several has an index: `micro[3]`";

    INVITATION_UNUSABLE "invitation-unusable":
        "The file given to `ligament agent --join` is not what the head wrote, or may be in the hands of \
         others. It is `invitation` in the run directory until all have joined; take it from there as it is, \
         and keep copies to yourself (`chmod 600`; [Domains](domains.md#beginning-by-hand))";

    LIMIT_OF_FILES "limit-of-files":
        "The run needs five open files for each process, or so. Raise the hard limit, `ulimit -Hn`, or ask \
         who administers the machine";

    MANUAL_PROGRAM "manual-program":
        "Start it with `ligament join`, or give the program another `execution_model`";

    MPI_LAUNCHER "mpi-launcher":
        "The program is started with MPI, and the command for that is missing, or another MPI's. Load the \
         module that the program was built with, or name the command in `mpirun:` under `ligament:` ([A code \
         with MPI](../guides/mpi.md))";

    MPI_OTHER_RANK "mpi-other-rank":
        "An MPI program makes one instance. All ranks make it together with `ligament_mpi.h`, or only rank 0 \
         makes it ([A code with MPI](../guides/mpi.md))";

    MPI_RANK_BEYOND "mpi-rank-beyond":
        "Each rank of the instance speaks for itself, and more processes were started than the model has \
         ranks. See [Ranks that speak for themselves](../guides/ranks.md)";

    MPI_RANK_UNKNOWN "mpi-rank-unknown":
        "Each rank of the instance speaks for itself, and learns its number from the MPI's `mpirun` or from \
         `srun`; this process was started by neither. See [Ranks that speak for \
         themselves](../guides/ranks.md)";

    NO_FUNCTION_FOR "no-function-for":
        "The names of the functions given to `ligament.run` are those of components, or of their \
         implementations";

    NO_PROGRAM "no-program":
        "A component without implementation can only be started by hand, or be a function of the script that \
         runs the model";

    NO_ROOM_FOR_FILES "no-room-for-files":
        "A disk is too small for an input, or for what an instance has left: the message names the file, the \
         machine, and the room. `--run-dir` chooses where the run directory is, `--scratch` of `ligament \
         agent` (and `scratch:` of a site) where instances on machines work that do not see it. Nothing \
         half-written is left, and what an instance has left stays where it was written ([Files of a \
         run](../guides/files.md))";

    NOT_STARTABLE "not-startable":
        "The system refused to start a program, or to make its files below the run directory. The text has \
         its reason; a script's first line (`#!`) may name an interpreter that is not there";

    RUN_DIRECTORY_UNWRITABLE "run-directory-unwritable":
        "The system refuses the run directory: permissions, a full disk, or a quota";

    RELAY_UNUSABLE "relay-unusable":
        "The file given with `--relay`, or by `relays:` of a site, is not what `ligament relay` wrote, or may \
         be in the hands of others; or the way over relays makes no sense. Copy the file from the relay's \
         machine, keep it to yourself (`chmod 600`), and name each relay once, the nearest first \
         ([Relays](relay.md))";

    VIRTUAL_ENV_MISSING "virtual-env-missing":
        "`virtual_env` leads to no Python environment on this machine";
}

codes! {
    MACHINES, "When a run is to be on several machines":

    AGENT_NOT_STARTED "agent-not-started":
        "The command that starts agents on other machines failed, or ended, which it does only when they do. \
         What it said stands in the message, and in whole in `launch-N.log` in the run directory. With ssh, \
         try `ssh -o BatchMode=yes MACHINE true` ([On a cluster](../guides/cluster.md))";

    ALLOCATION_NOT_UNDERSTOOD "allocation-not-understood":
        "The environment says that this is part of a job, and what it says of the job's nodes cannot be \
         read. Somebody has changed these variables, or they are left over. `--hosts` names machines without \
         them";

    DOMAIN_UNKNOWN "domain-unknown":
        "`place:` or `--on` names a domain by a number or a machine that the run does not have";

    HOSTS_NOT_UNDERSTOOD "hosts-not-understood":
        "Machines are names or addresses, each with `:cores` or, in a file, `slots=cores`";

    JOB_LOST "job-lost":
        "The batch system ended the job before the run could say so: its time was over, a node failed, or the \
         script could not begin. `job.log` in the run directory (at several sites `job-SITE.log`) has what it \
         printed. If `ligament` was not found there, `ligament:` in the site's file says where it is";

    NOT_BEGUN "not-begun":
        "The run was submitted, and its job waits in the queue. The message has how the job stands; \
         `ligament logs -f` waits for the run";

    JOB_REFUSED "job-refused":
        "What Slurm says stands in the message. Often an account or a partition is missing, or the time is \
         longer than allowed: `--account`, `--partition`, `--time`, or the site's file";

    NODES_UNKNOWN "nodes-unknown":
        "`ligament submit` does not know how many nodes to ask for. Say it with `--nodes`";

    NO_ROOM "no-room":
        "The instances ask for more cores than the machines have beside those that are kept for agents. The \
         message names the first for which there is none left ([Who runs \
         where](../guides/cluster.md#who-runs-where))";

    OVERCOMMITTED "overcommitted":
        "(warning in the log) Instances on that machine share cores, and take longer. Give the run more \
         machines, ask for less under `resources:`, or leave out `--overcommit` so that such a run does not \
         begin ([Who runs where](../guides/cluster.md#who-runs-where))";

    PLACED_APART "placed-apart":
        "All instances of a light program are in one domain; functions of a script, and instances that are \
         started by hand, are in that of `ligament run`";

    SITE_NOT_FIT "site-not-fit":
        "`ligament site install` puts the command that is called to a site, and that one does not run there: \
         the machines differ in processor or in C library. Nothing was left there. Build Ligament at the site, \
         or install it from a machine like that one ([Ligament at a \
         site](../guides/sites.md#ligament-at-a-site))";

    SITE_UNKNOWN "site-unknown":
        "Sites are files in `./sites` and `~/.config/ligament/sites` ([Sites](../guides/sites.md))";

    SITE_UNREACHABLE "site-unreachable":
        "ssh must reach the site without asking for a password, the lines under `modules:` and `commands:` \
         must run there, and `ligament` must be there. `ligament site check` tries all that";

    SITES_APART "sites-apart":
        "A run over two sites needs a way between them: one can dial the other, or both meet at a relay, or \
         ssh leads through a machine ([Two sites behind \
         firewalls](../guides/sites.md#two-sites-behind-firewalls))";

    SITES_NOT_TOGETHER "sites-not-together":
        "A run over several sites needs a job at each of them, and all at once. One has waited for the others \
         as long as `--wait-for-others` allows, as often as `--queue-again` says \
         ([Sites](../guides/sites.md#one-run-at-several-sites)). Where the scheduler can, reserve nodes at all \
         sites for the same time (`reservation:`)";

    TASKS_OUT_OF_ORDER "tasks-out-of-order":
        "A launcher would number agents otherwise than the run does";

    WORD_OF_THE_COMMAND_LINE "word-of-the-command-line":
        "An option's value cannot be read";
}

codes! {
    ENDS, "When a run ends badly":

    AGENT_GONE "agent-gone":
        "`ligament run` itself was killed";

    BUDGET_GROWS "budget-grows":
        "(in the log) Nothing is lost; write the larger budget into the model";

    BAD_STUDY "bad-study":
        "The settings of a study (`sampler`, `parameters`, `evaluations`, …) cannot be used, or the table of \
         its points cannot be read. [Ensembles](../guides/ensembles-and-settings.md#studies) lists them";

    CODE_PANICKED "code-panicked":
        "A Rust code's panic ended its instance. Its last lines say where";

    CONNECTION_LOST "connection-lost":
        "(in the log) Somebody called and went before the run could answer. If it was an instance, its own \
         end says why";

    DEADLOCK "deadlock":
        "They wait for each other for ever. One has to send what the other waits for before it waits itself; \
         the message names one that could. Where it went well for a while, compare how often each loop sends \
         and receives: see [It hangs](../guides/debugging-a-run.md#it-hangs)";

    EXIT_EARLY "exit-early":
        "The code left its loop early, or ended by `exit`. Leave the loop only when `reuse_instance` says \
         so, or end the run with `error_shutdown`";

    EXIT_STATUS "exit-status":
        "The program ended by itself, and not well. Its last lines say why";

    EXIT_UNREGISTERED "exit-unregistered":
        "It never got to make its instance: a missing library, a syntax error, or a program that is not \
         coupled at all. The text has the last error that it printed, and what to do where that is known. If \
         Ligament is not installed in the Python that ran, name another one with `executable:` or \
         `virtual_env:`, or [install the wheel](../getting-started/README.md#install) there. A file that was \
         not found: [name it under \
         `stage:`](../guides/what-surprises-at-first.md#a-code-does-not-run-where-its-files-are)";

    FAULT_IN_LIGAMENT "fault-in-ligament":
        "A panic was caught at the border. The instance is of no use any more; the run ends";

    GUARD_GONE "guard-gone":
        "Somebody killed the process `ligament-guard`; the instances have died with it";

    INTERRUPTED "interrupted":
        "A signal ended the wait; in Python it is the exception of its handler";

    REPORTED_AN_ERROR "reported-an-error":
        "An exception that was not caught, or `error_shutdown`";

    EVALUATION_FAILED "evaluation-failed":
        "An evaluation of a study gave no number, took too long, or was answered twice; the message has its \
         number and its settings. With `leave_out: true` a study goes on without those that fail \
         ([Ensembles](../guides/ensembles-and-settings.md#studies))";

    RUN_ENDS "run-ends":
        "What the other instances get when they call the library then; the reason is the first one's";

    DOMAIN_VANISHED "domain-vanished":
        "A domain was silent or cut off for longer than `--patience`, or its agent ended. What it had \
         started was ended there ([Domains](domains.md))";

    DOMAIN_KILLED "domain-killed":
        "The process `ligament agent` was killed on that machine, by somebody or by the kernel for want of \
         memory (`dmesg` says so there), or it crashed. Its guard ended what it had started there and told \
         the head at once";

    LAUNCHER_GONE "launcher-gone":
        "(of an agent) The `ssh`, `srun` or `mpirun` that had started it was killed, or lost its connection; \
         the agent ended its instances";

    FILE_LEFT_BEHIND "file-left-behind":
        "A file that an instance wrote on another machine is not in the run directory. It is whole where it \
         was written; the message says where, and nothing removes it there. One that could not be read, or \
         whose name is not UTF-8, is below the `--scratch` directory of that machine's agent (else `/tmp`), \
         in `ligament-RUN-PROCESS`, and the run is not concerned. Where one could not be written the run \
         counts as failed: most often the disk of the run directory is full, or a quota is used up. Make \
         room and copy it ([Files of a run](../guides/files.md))";

    HEAD_GONE "head-gone":
        "(of an agent) `ligament run` was killed, or cut off for longer than the agent's `--patience`. Its \
         instances were ended";

    RUN_KILLED "run-killed":
        "Somebody killed `ligament run`, or the kernel did for want of memory (`dmesg` says so); everything \
         that came of it was ended";

    SIGNAL "signal":
        "SIGSEGV and SIGABRT are faults in the program, SIGKILL is often the system short of memory. Where a \
         program crashed, a debugger shows: start the run with `--manual INSTANCE`, and in another terminal \
         `ligament join latest INSTANCE -- gdb -ex run -ex backtrace --args PROGRAM ARGUMENTS` ([In a \
         debugger](../guides/debugging-a-run.md#in-a-debugger)). Python shows the line itself with \
         `PYTHONFAULTHANDLER=1` in the program's `env:`; `ulimit -c unlimited` before the run allows core \
         files";

    NEVER_RECEIVED "never-received":
        "(at the end of a run that is done) Messages were sent there that no call of the receiver asked for. \
         Often its loop ends earlier than that of the sender, by a step or by another `t_max`; where that is \
         meant, nothing is wrong";

    NEVER_ASKED_FOR "never-asked-for":
        "(at the end of a run that is done) No instance asked for a setting of this name, so that its value \
         changed nothing: misspelt, or the name of an older version of a code. `run.json` lists them under \
         `unasked_settings`";

    SIGNING_OFF_FAILED "signing-off-failed":
        "The run was gone already when a code ended. Its reason is in the run's log";

    UNKILLABLE "unkillable":
        "They hang in the kernel, most often in a file system that does not answer";

    WAITING_FOR_MEMORY "waiting-for-memory":
        "(warning in the log) Memory is short, and views that the codes hold keep it. The run goes on, since \
         [it is not certain](../concepts/deadlocks.md#what-is-not-found). Free views earlier, or raise \
         `memory` under `ligament:`";
}

codes! {
    DOMAINS, "Between domains":

    CARRIER_FAILED "carrier-failed":
        "The part of the agent that carries messages to other machines could not go on; the text has the \
         system's reason. A crash is a fault in Ligament: please report it";

    DOMAIN_SENDS_NONSENSE "domain-sends-nonsense":
        "What came from another machine is not what its agent, or the head, can have sent. Are all machines \
         running the same version of Ligament (`ligament version`)? If so, please report it, with the run's \
         log";

    DOMAIN_CUT_OFF "domain-cut-off":
        "(warning in the log) All connections to that machine broke, and new ones are being made. Messages \
         wait for them. Only if that takes longer than `--patience` the run fails";

    ENCRYPTION_FAILED "encryption-failed":
        "The encrypted talk of two agents cannot go on (what follows \"a record\" or \"TLS alert\" is a \
         number of the standard, RFC 8446). Something between the machines changes what passes, such as a \
         firewall that looks into connections, or their versions of Ligament differ. A new connection is \
         made by itself; if that fails again and again, choose other ports (`--ports`), or, on a network \
         that you trust, `--no-encryption`";

    INSTANCE_ELSEWHERE "instance-elsewhere":
        "The instance was placed on another machine; start it by hand there";

    NO_MEMORY_FOR_OTHERS "no-memory-for-others":
        "A message from another machine cannot be kept until its receiver reads it. Lower the budget of its \
         conduit, or raise `memory` under `ligament:`";

    NOT_LET_IN "not-let-in":
        "(a warning: the first at once, the number of the others each minute and at the end) Somebody \
         connected to the port of this run, or another user to its agent's socket, and was sent away; the \
         run goes on. Often it is a scanner of ports, or an agent with the invitation of another run. If an \
         agent of this run is missing: is its invitation this run's, is its `--domain` one that nobody else \
         has, and has it not been started a second time?";

    OTHER_VERSION_ELSEWHERE "other-version-elsewhere":
        "The machines run different versions of Ligament. Install the same on all; `ligament version` says \
         which a machine has. Where agents are started by ssh or a batch system, `ligament` is looked for in \
         the `PATH` of the other machine (`ligament:` in the site's file names another; \
         [Sites](../guides/sites.md))";

    PATH_GIVEN_UP "path-given-up":
        "The connection to another machine could not be made, or not be made again within `--patience`, or \
         was refused; the last reason follows. \"Nobody has come\": the other machine has never reached this \
         one. Is a firewall between them (`--ports` says which to open), and are the addresses those by \
         which they see each other (`--listen`)? \"Does not hold the run's keys\": something else listens \
         there, such as another run. \"Started anew\": an agent cannot come back to its run once it has \
         ended";
}
