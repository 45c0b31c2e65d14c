"""Makes a model of a configuration: `precice-to-ligament precice-config.xml --program 'NAME=COMMAND' …`.
`ligament convert` runs this program too, and reads its messages: lines that begin with file and line."""

import argparse
import json
import shlex
import sys
from pathlib import Path

from ligament import Operator

from .configuration import identifier, listed, read
from .errors import Error
from .participant import ports
from .plan import plan

COUPLING = "coupling"


def conduits(configuration):
    """The conduits of a model: receivers by sender."""
    found = {}

    def join(sender, receiver):
        found.setdefault(sender, [])
        if receiver not in found[sender]:
            found[sender].append(receiver)

    for name, role in configuration.roles.items():
        for mesh, provider in role.received.items():
            port = f"mesh_{identifier(mesh)}"
            join(f"{identifier(provider)}.{port}", f"{identifier(name)}.{port}")
    for one in configuration.exchanges:
        key, sender, receiver = configuration.key(one), identifier(one.sender), identifier(one.receiver)
        join(f"{sender}.write_{key}", f"{COUPLING}.{key}_in")
        join(f"{COUPLING}.{key}_out", f"{receiver}.read_{key}")
        join(f"{sender}.initial_{key}", f"{receiver}.initial_{key}")
    for name, sender in configuration.clocks.items():
        key = configuration.clock_key(name)
        join(f"{identifier(sender)}.write_{key}", f"{COUPLING}.{key}_in")
        join(f"{COUPLING}.{key}_out", f"{identifier(name)}.read_{key}")
    return found


def model(configuration, programs):
    """The text of a model. `programs` has a command for each participant."""
    if COUPLING in map(identifier, configuration.roles):
        raise Error(f"{configuration.path}: a participant has the name \"{COUPLING}\", which the mapper of the "
                    "model has; give the participant another name")
    for name in programs:
        if name not in configuration.roles:
            raise Error(f"--program names \"{name}\"; the participants are {listed(configuration.roles)}")
    missing = [name for name in configuration.roles if not programs.get(name, "").strip()]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        names = " and ".join(missing)
        raise Error(f"say how {names} {verb} started: --program '{missing[0]}=python3 solver.py'")
    lines = ["ymmsl_version: v0.2", "models:", "  coupled:", "    components:"]
    for name in configuration.roles:
        by_operator = ports(configuration, name)
        sending, receiving = (" ".join(by_operator[one]) for one in (Operator.O_I, Operator.S))
        lines += [f"      {identifier(name)}:", f"        implementation: {identifier(name)}",
                  f"        ports: {{o_i: {json.dumps(sending)}, s: {json.dumps(receiving)}}}"]
    lines += [f"      {COUPLING}: {{implementation: ligament.mappers.implicit}}", "    conduits:"]
    for sender, receivers in conduits(configuration).items():
        lines += [f"      {sender}:", *(f"      - {receiver}" for receiver in receivers)]
    lines += ["programs:"]
    for name in configuration.roles:
        executable, *arguments = words(name, programs[name])
        lines += [f"  {identifier(name)}:", f"    executable: {json.dumps(executable)}",
                  f"    args: {json.dumps(arguments)}"]
    lines += ["settings:", f"  precice_config: {json.dumps(str(configuration.path.resolve()))}",
              f"  precice_samples: {configuration.window_samples}",
              f"  precice_plan: {json.dumps(plan(configuration))}"]
    settings = dict(configuration.settings)
    sampled = [configuration.key(one) for one in configuration.exchanges if configuration.samples(one) > 1]
    if sampled:
        settings["sampled"] = " ".join(dict.fromkeys(sampled))
    lines += [f"  {COUPLING}.{name}: {json.dumps(value)}" for name, value in settings.items()]
    return "\n".join(lines) + "\n"


def words(name, command):
    """The words of the command of a participant."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise Error(f"--program {name}={command}: {error}") from error


def commands(options):
    """The command of each participant by its name, from `NAME=COMMAND`."""
    found = {}
    for option in options:
        name, _, command = option.partition("=")
        if name in found:
            raise Error(f"--program names \"{name}\" twice; a participant has one command")
        found[name] = command
    return found


def main(arguments=None):
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(prog="precice-to-ligament", description=__doc__)
    parser.add_argument("configuration", type=Path)
    parser.add_argument("--program", action="append", default=[], metavar="NAME=COMMAND",
                        help="the command that starts a participant; once for each")
    parser.add_argument("--samples", type=int, default=1, metavar="COUNT",
                        help="the samples of data in each window, but for substeps=\"false\"; 1 unless said")
    parser.add_argument("-o", "--output", type=Path, help="the model file; standard output unless said")
    options = parser.parse_args(arguments)
    try:
        configuration = read(options.configuration)
        if options.samples < 1:
            raise Error(f"--samples is {options.samples}; a window has one sample or more")
        configuration.window_samples = options.samples
        text = model(configuration, commands(options.program))
        if options.output:
            options.output.write_text(text)
        else:
            sys.stdout.write(text)
    except (Error, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for warning in configuration.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
