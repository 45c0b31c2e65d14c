"""Instances with slots, filters, settings, waits, ranks and MPI are replayed as they were."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

LOOP = """ymmsl_version: v0.2
models:
  loop:
    components:
      macro: {ports: {o_i: out, s: in}, implementation: macro}
      micro: {ports: {f_init: in, o_f: out}, implementation: micro, multiplicity: 3}
    conduits:
      macro.out: micro.in
      micro.out: macro.in
settings: {factor: 2.0}
programs:
"""
COPIES = ["micro[0]", "micro[1]", "micro[2]"]
MACRO = """
    instance = Instance({Operator.O_I: ["out[]"], Operator.S: ["in[]"]})
    while instance.reuse_instance():
        for t in range(3):
            for slot in range(instance.get_port_length("out")):
                instance.send("out", Message(float(t), None, {"t": t, "slot": slot}), slot)
            left = set(range(3))
            while left:
                for slot in sorted(left):
                    if instance.poll("in", slot):
                        instance.receive("in", slot)
                        left.remove(slot)
    """
MICRO = """
    instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]})
    while instance.reuse_instance():
        message = instance.receive("in")
        instance.send("out", Message(message.timestamp, None, instance.get_setting("factor", "float")))
    """


def programs(user, **codes):
    lines = []
    for name, text in codes.items():
        user.code(name, text)
        lines.append(f"  {name}: {{executable: {sys.executable}, args: [{user.path / f'{name}.py'}]}}\n")
    return "".join(lines)


def all_are_replayed(user, model, *names, more=()):
    (user.path / "model.ymmsl").write_text(model)
    done = user.record(*more, name=",".join(names).replace("copies", "micro"))
    assert done.returncode == 0, done.stderr
    states = {}
    replays = [name for given in names for name in (COPIES if given == "copies" else [given])]
    for name in replays:
        done = user("replay", "run", "--only", name, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        for outcome in json.loads(done.stdout.splitlines()[-1])["instances"]:
            states[outcome["name"]] = (outcome["state"], outcome["messages"])
    return states


def test_slots_polls_and_all_instances_of_a_component(user):
    model = LOOP + programs(user, macro=MACRO, micro=MICRO)
    states = all_are_replayed(user, model, "macro", "copies")
    assert states == {"macro": ("same", 9)} | {f"micro[{i}]": ("same", 3) for i in range(3)}
    one = user("replay", "run", "--only", "micro[1]")
    assert one.stdout == "micro[1]: 3 messages as recorded\n", one.stderr
    user.code("other", MICRO.replace('"float"))', '"float") + (message.data["t"] == 2) * 1e-15)'))
    changed = user("replay", "run", "--only", "micro[1]", "--", sys.executable, "other.py")
    assert changed.returncode == 1, changed.stderr
    assert changed.stdout == "micro[1]: port out at 2: data: 2.000000000000001, recorded 2.0\n"
    user.code("other", MACRO.replace('"slot": slot}', '"slot": slot + (slot == 2 and t == 1)}'))
    changed = user("replay", "run", "--only", "macro", "--", sys.executable, "other.py")
    assert changed.stdout == "macro: port out[2] at 1: data.slot: 3, recorded 2\n", changed.stderr


def test_a_resizable_port_with_waits_for_any(user):
    model = LOOP.replace(", multiplicity: 3", "") + programs(user, macro="""
        instance = Instance({Operator.O_I: ["out[]"], Operator.S: ["in[]"]})
        while instance.reuse_instance():
            for t in range(1, 4):
                instance.set_port_length("out", t)
                for slot in range(t):
                    instance.send("out", Message(float(t), None, slot), slot)
                left = list(range(t))
                while left:
                    found = instance.wait_any([("in", slot) for slot in left])
                    instance.receive("in", left.pop(left.index(found[1])))
        """, micro="""
        instance = Instance({Operator.F_INIT: ["in[]"], Operator.O_F: ["out[]"]})
        while instance.reuse_instance():
            length = instance.get_port_length("in")
            instance.set_port_length("out", length)
            for slot in range(length):
                instance.send("out", Message(instance.receive("in", slot).timestamp, None, slot), slot)
        """)
    states = all_are_replayed(user, model, "macro", "micro")
    assert states == {"macro": ("same", 6), "micro": ("same", 6)}


def test_filters_at_both_ends_and_overlays_of_settings(user):
    model = LOOP.replace(", multiplicity: 3", "") + programs(user, macro="""
        ports = {Operator.O_I: ["out"], Operator.S: ["in"]}
        instance = Instance(ports, InstanceFlags.DONT_APPLY_OVERLAY)
        while instance.reuse_instance():
            for t in range(4):
                settings = Settings({"factor": float(t // 2 + 1)})
                instance.send("out", Message(float(t), None, float(t), settings))
                print(instance.receive("in").data)
        """, micro=MICRO) + """ligament:
  filters:
    macro.out: [{multiply: 3.0}]
    micro.out: [{multiply: 5.0, at: sender}]
"""
    states = all_are_replayed(user, model, "macro", "micro")
    assert states == {"macro": ("same", 4), "micro": ("same", 4)}
    printed = (user.path / "run/instances/macro/output.log").read_text().split()
    assert [float(word) for word in printed] == [5.0, 5.0, 10.0, 10.0]
    # The recording has messages as the code gets and sends them: a changed code is compared behind its filter.
    user.code("other", MICRO.replace('"float"))', '"float") * (1.5 if message.timestamp == 2 else 1.0))'))
    changed = user("replay", "run", "--only", "micro", "--", sys.executable, "other.py")
    assert changed.stdout == "micro: port out at 2: data: 15.0, recorded 10.0\n", changed.stderr


def test_questions_for_the_next_message(user):
    model = LOOP.replace(", multiplicity: 3", "") + programs(user, macro="""
        instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
        while instance.reuse_instance():
            for t in range(3):
                instance.send("out", Message(float(t), t + 1.0 if t < 2 else None, t))
                assert instance.has_next("in")
                instance.receive("in")
        """, micro=MICRO)
    states = all_are_replayed(user, model, "macro", "micro")
    assert states == {"macro": ("same", 3), "micro": ("same", 3)}


@pytest.mark.parametrize("how", ["alone", "openmpi"])
def test_ranks_that_speak_for_themselves(user, how, monkeypatch):
    allow_root(user, monkeypatch)
    words = {"alone": ["gcc"], "openmpi": ["mpicc.openmpi", "-DWITH_MPI", "-Wno-cast-function-type"]}[how]
    program = compiled(user, words, "each.c")
    user.code("macro", """
        instance = Instance({Operator.O_I: ["start[]"], Operator.S: ["end[]"]})
        while instance.reuse_instance():
            for step in range(3):
                for rank in range(instance.get_port_length("start")):
                    instance.send("start", Message(step, data=100.0 * step + rank), slot=rank)
                for rank in range(instance.get_port_length("end")):
                    instance.receive("end", slot=rank)
        """)
    key, resources = {"alone": ("direct", "threads: 1"), "openmpi": ("openmpi", "mpi_processes: 2")}[how]
    model = RANKS.replace("HOW", key).replace("RESOURCES", resources).replace("PROGRAM", str(program))
    (user.path / "model.ymmsl").write_text(model.replace("PYTHON", sys.executable))
    assert (done := user.record(name="flow")).returncode == 0, done.stderr
    done = user("replay", "run", "--only", "flow", "--json")
    outcomes = json.loads(done.stdout.splitlines()[-1])["instances"]
    states = [(one["name"], one["state"]) for one in outcomes]
    assert states == [("flow:0", "same"), ("flow:1", "same")], done.stdout + done.stderr
    assert all(one["messages"] > 3 for one in outcomes)
    one = user("replay", "run", "--only", "flow:1")
    if how == "alone":
        assert one.returncode == 0 and "\nflow:1: " in one.stdout, one.stdout + one.stderr
    else:
        assert one.returncode == 2 and "give --only flow" in one.stderr, one.stderr


def test_an_mpi_program_whose_first_rank_speaks_for_all(user, monkeypatch):
    allow_root(user, monkeypatch)
    program = compiled(user, ["mpicc.openmpi", "-Wno-cast-function-type"], "relay.c")
    user.code("macro", """
        import numpy as np
        instance = Instance({Operator.O_I: ["start"], Operator.S: ["end"]})
        while instance.reuse_instance():
            for step in range(8):
                instance.send("start", Message(step, None, np.random.default_rng(step).random(1200)))
                instance.receive("end")
        """)
    (user.path / "model.ymmsl").write_text(
        MPI.replace("PROGRAM", str(program)).replace("PYTHON", sys.executable))
    assert (done := user.record(name="relay")).returncode == 0, done.stderr
    done = user("replay", "run", "--only", "relay")
    assert done.returncode == 0 and "relay: 8 messages as recorded\n" in done.stdout, done.stdout + done.stderr
    assert "/dev/shm/ligament-mpi" not in done.stdout + done.stderr, "the run's shared memory ended with it"


def compiled(user, words, source):
    built = ROOT / "target/release"
    program = user.path / source.removesuffix(".c")
    subprocess.run([*words, "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", ROOT / "tests/mpi" / source, "-o",
                    program, f"-I{ROOT}/crates/capi/include", f"-L{built}", "-lligament",
                    f"-Wl,-rpath,{built}"], check=True)
    return program


def allow_root(user, monkeypatch):
    """Open MPI refuses root unless it is told twice; CI is root."""
    # The names of Open MPI's sockets have no room for a long directory.
    user.temporary = "/tmp"
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")


RANKS = """ymmsl_version: v0.1
model:
  name: ranked
  components:
    macro: {implementation: macro, ports: {o_i: start, s: end}}
    flow: {implementation: flow, ports: {f_init: start, o_i: out, s: in, o_f: end}}
    solid: {implementation: solid, ports: {s: in, o_i: out}}
  conduits:
    macro.start: flow.start
    flow.out: solid.in
    solid.out: flow.in
    flow.end: macro.end
settings: {factor: 10.0, steps: 3, solid.factor: 10.0}
implementations:
  macro: {executable: PYTHON, args: macro.py}
  flow: {executable: PROGRAM, args: [flow, well], execution_model: HOW}
  solid: {executable: PROGRAM, args: [solid], execution_model: HOW}
resources:
  macro: {threads: 1}
  flow: {RESOURCES}
  solid: {RESOURCES}
ligament: {ranks: {flow: 2, solid: 2}, overcommit: true}
"""
MPI = """ymmsl_version: v0.1
model:
  name: relayed
  components:
    macro: {implementation: macro, ports: {o_i: start, s: end}}
    relay: {implementation: relay, ports: {f_init: start, o_f: end}}
  conduits: {macro.start: relay.start, relay.end: macro.end}
implementations:
  macro: {executable: PYTHON, args: macro.py}
  relay: {executable: PROGRAM, args: [well], execution_model: openmpi}
resources:
  macro: {threads: 1}
  relay: {mpi_processes: 2}
ligament: {overcommit: true}
"""
