"""Filters of conduits in whole runs: the results of each for known messages, at either end, in chains, on
vector ports, in light components, over restarts and over two domains; and messages that a filter cannot
take."""

import json
import subprocess
import threading

import pytest

SOURCE = """
import numpy as np
instance = Instance({Operator.O_I: ["out"]})
times = {times}
values = {values}
while instance.reuse_instance():
    for i, (time, value) in enumerate(zip(times, values)):
        following = times[i + 1] if i + 1 < len(times) else None
        instance.send("out", Message(time, following, value))
"""
# A component that receives until its conduit ends, and records the messages.
SINK = """
import json
import numpy as np
instance = Instance({Operator.S: ["in"]})
def plain(value):
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), value.tolist()]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value
came = []
while instance.reuse_instance():
    while True:
        try:
            message = instance.receive("in")
        except ClosedError:
            break
        came.append([message.timestamp, message.next_timestamp, plain(message.data)])
open("came.json", "w").write(json.dumps(came))
"""


def chained(source, sink, filters, *, name="source.out -> sink.in", more=""):
    return f"""ymmsl_version: v0.1
model:
  name: chained
  components:
    source: {{implementation: source, ports: {{o_i: out}}}}
    sink: {{implementation: sink, ports: {{s: in}}}}
  conduits: {{source.out: sink.in}}
implementations:
  source: {source}
  sink: {sink}
ligament:
  filters:
    {name}: {filters}
{more}"""


@pytest.fixture
def pass_through(run, python_program):
    """The output of filters: timestamp, next timestamp and value of each message."""

    def pass_through(filters, values, times=None, **more):
        times = times or [float(i) for i in range(len(values))]
        source = python_program(
            "source", SOURCE.replace("{times}", repr(times)).replace("{values}", f"[{', '.join(values)}]"))
        done = run(chained(source, python_program("sink", SINK), filters, **more))
        assert done.status == 0, done.text
        return json.loads(done.file("sink", "came.json")), done

    return pass_through


def array(kind, shape, values):
    return [kind, shape, values]


# Filters, messages (as Python writes them), and the expected output.
FILTER_CASES = {
    "every": ("[{every: 2}]", ["1.0", "2.0", "3.0"], [[0, 2, 1], [2, None, 3]]),
    "block_until": ("[{block_until: 1}]", ["1.0", "2.0"], [[1, None, 2]]),
    "block_after": ("[{block_after: 0}]", ["1.0", "2.0"], [[0, None, 1]]),
    "time_offset": ("[{time_offset: 5}]", ["1.0", "2.0"], [[5, 6, 1], [6, None, 2]]),
    "time_factor": ("[{time_factor: 60}]", ["1.0", "2.0"], [[0, 60, 1], [60, None, 2]]),
    "interpolate_time": ("[{interpolate_time: 2}]", ["0.0", "4.0"], [[0, 0.5, 0], [0.5, 1, 2], [1, None, 4]]),
    "moving_average": ("[{moving_average: 2}]", ["0.0", "4.0", "6.0"], [[0, 1, 0], [1, 2, 2], [2, None, 5]]),
    "chunk": ("[{chunk: 2}]", ["7.0", "8.0", "9.0"], [
        [0, 2, {"timestamps": array("float64", [2], [0, 1]), "values": [7, 8]}],
        [2, None, {"timestamps": array("float64", [1], [2]), "values": [9]}]]),
    "dechunk": ("[{chunk: 2}, dechunk]", ["7.0", "8.0", "9.0"], [[0, 1, 7], [1, 2, 8], [2, None, 9]]),
    "multiply": ("[{multiply: 3}]", ["2", "np.array([1.0, 2.0])"],
                 [[0, 1, 6], [1, None, array("float64", [2], [3, 6])]]),
    "unit": ("[{unit: {from: km/h, to: m/s}}]", ["36.0"], [[0, None, 10]]),
    "type": ("[{type: int32}]", ["np.array([1.5, -2.5])"], [[0, None, array("int32", [2], [1, -2])]]),
    "threshold": ("[{threshold: {value: 2, below: 0, above: 1}}]", ["np.array([1.0, 2.0])"],
                  [[0, None, array("float64", [2], [0, 1])]]),
    "expression": ('[{expression: "where(x > 1, x ** 2, -x) + 10 * t + i"}]', ["np.array([1.0, 3.0])"] * 2,
                   [[0, 1, array("float64", [2], [-1, 10])], [1, None, array("float64", [2], [9, 20])]]),
    "slice": ('[{slice: "1:, ::2"}]', ["np.arange(8.0).reshape(2, 4)"],
              [[0, None, array("float64", [1, 2], [[4, 6]])]]),
    "reduce": ("[{reduce: {to: mean, axis: 1}}]", ["np.arange(6.0).reshape(2, 3)"],
               [[0, None, array("float64", [2], [1, 4])]]),
    "interpolate_space": ("[{interpolate_space: 2}]", ["np.array([0.0, 2.0, 6.0])"],
                          [[0, None, array("float64", [5], [0, 1, 2, 4, 6])]]),
    "resample": ("[{resample: {shape: 2, method: conservative}}]", ["np.array([1.0, 2.0, 3.0, 4.0])"],
                 [[0, None, array("float64", [2], [1.5, 3.5])]]),
    "compress": ("[{compress: zstd}]", ["np.zeros(3)", "{'a': [1, 'b', None]}"],
                 [[0, 1, array("float64", [3], [0, 0, 0])], [1, None, {"a": [1, "b", None]}]]),
    "discard": ("[discard]", ["1.0", "2.0"], []),
    "console": ("[{console: seen}]", ["1.5"], [[0, None, 1.5]]),
    "a chain at both ends": (
        '[{multiply: 2, at: sender}, {slice: "1:", at: sender}, {compress: lz4}, {interpolate_time: 2}, '
        '{reduce: sum}, '
        '{every: 2}, {time_offset: 100}]',
        ["np.array([9.0, 1.0, 2.0])", "np.array([9.0, 3.0, 4.0])"],
        [[100, 101, 6], [101, None, 14]]),
}


@pytest.mark.parametrize("end", ["receiver", "sender"])
@pytest.mark.parametrize("what", FILTER_CASES)
def test_each_filter_makes_of_known_messages_what_it_should(pass_through, what, end):
    filters, values, expected = FILTER_CASES[what]
    if end == "sender" and "at: sender" not in filters and "compress" not in filters:
        # If the last filter runs at the sender, the others do, too.
        filters = filters.replace("[discard]", "[{discard: , at: sender}]").replace("dechunk]",
                                                                                    "{dechunk: , at: sender}]")
        filters = filters if filters.endswith("at: sender}]") else filters[:-2] + ", at: sender}]"
    came, done = pass_through(filters, values)
    assert came == expected
    if what == "console":
        log = (done.directory / "manager.log").read_text()
        assert "conduit source.out -> sink.in: seen: time 0: 1.5" in log, log


def test_single_precision_units_and_memory_order_stay(run, python_program):
    source = python_program("source", """
import numpy as np
instance = Instance({Operator.O_I: ["out"]})
while instance.reuse_instance():
    instance.send("out", Message(0.0, None, np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))))
""")
    sink = python_program("sink", """
import numpy as np
instance = Instance({Operator.S: ["in"]})
while instance.reuse_instance():
    data = instance.receive("in").data
    assert data.dtype == np.float32 and data.flags.f_contiguous, (data.dtype, data.flags)
    assert np.array_equal(data, 2 * np.arange(6, dtype=np.float32).reshape(2, 3)), data
""")
    done = run(chained(source, sink, "[{multiply: 2}]"))
    assert done.status == 0, done.text


def test_filters_named_by_port_hold_for_all_its_conduits_and_those_of_a_conduit_come_first(run, python_program):
    source = python_program("source", SOURCE.replace("{times}", "[0.0]").replace("{values}", "[1.0]"))
    sink = python_program("sink", SINK)
    done = run(f"""ymmsl_version: v0.1
model:
  name: several
  components:
    source: {{implementation: source, ports: {{o_i: out}}}}
    one: {{implementation: sink, ports: {{s: in}}}}
    two: {{implementation: sink, ports: {{s: in}}}}
    three: {{implementation: sink, ports: {{s: in}}}}
  conduits:
    source.out: [one.in, two.in, three.in]
implementations:
  source: {source}
  sink: {sink}
ligament:
  filters:
    source.out: {{multiply: 2, at: sender}}
    two.in: {{multiply: 3}}
    source.out -> three.in: []
""")
    assert done.status == 0, done.text
    assert [json.loads(done.file(name, "came.json")) for name in ("one", "two", "three")] == [
        [[0, None, 2]], [[0, None, 3]], [[0, None, 1]]]


MACRO = """
instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    for step in range(4):
        instance.send("out", Message(float(step), float(step + 1), 10.0 * step))
        if step % 2 == 0:  # of which each gets an answer
            answer = instance.receive("in")
            assert (answer.timestamp, answer.data) == (step, 2 * (10.0 * step + 1) / 2), answer
"""
MICRO = """
instance = Instance({Operator.F_INIT: ["init"], Operator.O_F: ["result"]})
passes = 0
while instance.reuse_instance():
    message = instance.receive("init")
    instance.send("result", Message(message.timestamp, None, message.data + 1))
    passes += 1
assert passes == 2, passes
"""


def test_a_submodel_starts_again_only_for_messages_that_come_through(run, python_program):
    done = run(f"""ymmsl_version: v0.1
model:
  name: again
  components:
    macro: {{implementation: macro, ports: {{o_i: out, s: in}}}}
    micro: {{implementation: micro, ports: {{f_init: init, o_f: result}}}}
  conduits:
    macro.out: micro.init
    micro.result: macro.in
implementations:
  macro: {python_program("macro", MACRO)}
  micro: {python_program("micro", MICRO)}
ligament:
  filters:
    macro.out -> micro.init: [{{every: 2}}]
    micro.result -> macro.in: [{{multiply: 2}}, {{multiply: 0.5}}]
""")
    assert done.status == 0, done.text


VECTOR = """
instance = Instance({Operator.O_I: ["out[]"], Operator.S: ["in[]"]})
n = instance.get_port_length("out")
while instance.reuse_instance():
    for step in range(4):
        for slot in range(n):
            instance.send("out", Message(float(step), None, 100.0 * slot + step), slot)
    for slot in range(n):
        # The micro's answers come through a moving average, of each slot by itself.
        means = [instance.receive("in", slot).data for _ in range(4)]
        assert means == [100.0 * slot + mean for mean in (0, 0.5, 1.5, 2.5)], (slot, means)
print("all answers are right")
"""
ECHO = """
instance = Instance({Operator.F_INIT: ["init"], Operator.O_F: ["result"]})
while instance.reuse_instance():
    message = instance.receive("init")
    instance.send("result", Message(message.timestamp, None, message.data))
"""
LIGHT_ECHO = """
class Echo(Submodel):
    def initialise(self, instance):
        self.message = instance.receive("init")
    def is_done(self):
        return True
    def observe(self, instance):
        pass
    def solve(self, instance):
        pass
    def observe_final(self, instance):
        instance.send("result", Message(self.message.timestamp, None, self.message.data))
run_light(lambda instance: Echo(), {Operator.F_INIT: ["init"], Operator.O_F: ["result"]})
"""


@pytest.mark.parametrize("light", [False, True], ids=["ordinary", "light"])
@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_each_slot_of_a_vector_port_has_filters_of_its_own(run, python_program, light, end):
    done = run(f"""ymmsl_version: v0.1
model:
  name: slots
  components:
    macro: {{implementation: macro, ports: {{o_i: out, s: in}}}}
    micro: {{implementation: micro, multiplicity: 3, ports: {{f_init: init, o_f: result}}}}
  conduits:
    macro.out: micro.init
    micro.result: macro.in
implementations:
  macro: {python_program("macro", VECTOR)}
  micro: {python_program("micro", LIGHT_ECHO if light else ECHO)}
ligament:
  light: [{"micro" if light else ""}]
  filters:
    macro.out: [{{multiply: 2, at: {end}}}]
    macro.in: [{{multiply: 0.5}}, {{moving_average: {{n: 2}}, at: {end}}}]
""")
    assert done.status == 0, done.text
    assert "all answers are right" in (done.directory / "instances/macro/output.log").read_text()


PAIR = """
class Half(Submodel):
    def __init__(self, instance):
        self.name, self.step, self.came = instance.name, 0, []
    def initialise(self, instance):
        pass
    def is_done(self):
        return self.step == 4
    def observe(self, instance):
        instance.send("out", Message(float(self.step), None, float(self.step)))
    def solve(self, instance):
        self.came.append(instance.receive("in").data)
        self.step += 1
    def observe_final(self, instance):
        expected = [0.0, 10.0, 20.0, 30.0] if self.name == "right" else [0.0, 1.0, 2.0, 3.0]
        assert self.came == expected, (self.name, self.came)
run_light(Half, {Operator.O_I: ["out"], Operator.S: ["in"]})
"""


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_light_components_of_one_process_have_filters_between_them(run, python_program, end):
    done = run(f"""ymmsl_version: v0.1
model:
  name: between
  components:
    left: {{implementation: half, ports: {{o_i: out, s: in}}}}
    right: {{implementation: half, ports: {{o_i: out, s: in}}}}
  conduits:
    left.out: right.in
    right.out: left.in
implementations:
  half: {python_program("half", PAIR)}
ligament:
  light: [half]
  filters:
    left.out: [{{multiply: 10, at: {end}}}]
    right.out -> left.in: [{{chunk: 1}}, {{dechunk: , at: {end}}}]
""")
    assert done.status == 0, done.text


def test_a_receiver_of_several_ports_waits_for_what_comes_through(run, python_program):
    source = python_program(
        "source", SOURCE.replace("{times}", "[0.0, 1.0, 2.0, 3.0]").replace("{values}", "[0.0, 1.0, 2.0, 3.0]"))
    done = run(f"""ymmsl_version: v0.1
model:
  name: any
  components:
    one: {{implementation: source, ports: {{o_i: out}}}}
    two: {{implementation: source, ports: {{o_i: out}}}}
    sink: {{implementation: sink, ports: {{s: in other}}}}
  conduits:
    one.out: sink.in
    two.out: sink.other
implementations:
  source: {source}
  sink: {python_program("sink", '''
instance = Instance({Operator.S: ["in", "other"]})
came = {"in": [], "other": []}
while instance.reuse_instance():
    for _ in range(6):
        port, message = instance.receive_any(["in", "other"])
        came[port].append(message.data)
    assert came == {"in": [0.0, 2.0], "other": [0.0, 1.0, 2.0, 3.0]}, came
''')}
ligament:
  filters:
    sink.in: [{{every: 2}}]
""")
    assert done.status == 0, done.text


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_message_that_a_filter_cannot_take_ends_the_run_with_all_that_is_to_be_known(run, python_program,
end):
    source = python_program("source", SOURCE.replace("{times}", "[0.0, 2.5]").replace("{values}",
                                                                                      "[1.0, 'text']"))
    done = run(chained(source, python_program("sink", SINK), f"[{{every: 1}}, {{multiply: 2, at: {end}}}]"))
    assert done.status == 1, done.text
    assert ("conduit source.out -> sink.in: filter 2 (multiply), message at time 2.5: it takes "
            "numbers") in done.text, done.text
    assert "this is text" in done.text and "filter-failed" in done.text, done.text


def test_a_run_goes_on_without_such_a_message_or_with_it_as_it_was(pass_through):
    came, done = pass_through("[{multiply: 2, on_error: skip}]", ["1.0", "'text'", "3.0"])
    assert came == [[0, 1, 2], [2, None, 6]]
    assert "the message is left out" in (done.directory / "manager.log").read_text()


def test_such_a_message_passes_as_it_was_if_the_model_says_so(pass_through):
    came, done = pass_through("[{multiply: 2, on_error: pass}]", ["1.0", "'text'"])
    assert came == [[0, 1, 2], [1, None, "text"]]
    assert "goes on as it was" in (done.directory / "manager.log").read_text()


@pytest.mark.parametrize("filters, expected", [
    ("[{mutliply: 2}]", "did you mean \"multiply\"?"),
    ("[{expression: \"x +\"}]", "wants something more at the end"),
    ("[{expression: \"__import__(x)\"}]", "there is no function \"__import__\""),
    ("[{unit: {from: m, to: s}}]", "\"m\" does not convert to \"s\""),
    ("[{unit: furlong}]", "there is no unit \"furlong\""),
    ("[{unit: {from: m, to: cm}}, {unit: {from: mm, to: km}}]", "what comes to it is in \"cm\""),
    ("[{slice: \"1:2:0\"}]", "steps must be at least 1"),
    ("[{compress: {method: lz4, level: 3}}]", "only zstd has levels"),
    ("[{resample: {shape: 2, method: conservative, points: nodes}}]", "a conservative mean is one of cells"),
])
def test_check_finds_what_no_filter_can_be(ligament, tmp_path, python_program, filters, expected):
    program = python_program("program", "")
    (tmp_path / "m.ymmsl").write_text(chained(program, program, filters))
    done = subprocess.run([ligament, "check", "m.ymmsl"], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 2, done.stdout
    assert "m.ymmsl:13:" in done.stdout and expected in done.stdout, done.stdout


def test_filters_work_between_two_domains(ligament, tmp_path, python_program):
    filters = "[{multiply: 2, at: sender}, compress, {interpolate_time: 2}]"
    source = python_program("source", SOURCE.replace("{times}", "[0.0, 1.0]").replace(
        "{values}", "[np.zeros(1000), np.full(1000, 2.0)]"))
    model = tmp_path / "m.ymmsl"
    model.write_text(chained(source, python_program("sink", SINK), filters))
    directory = tmp_path / "run"
    common = {"cwd": tmp_path, "text": True, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
              "stderr": subprocess.STDOUT}
    head = subprocess.Popen([ligament, "run", "m.ymmsl", "--domains", "1", "--listen", "127.0.0.1",
                             "--overcommit",
                             "--on", "0=source", "--on", "1=sink", "--run-dir", directory], **common)
    agents = []
    try:
        said = threading.Event()
        lines = []

        def read():
            for line in head.stdout:
                lines.append(line)
                said.set()
            said.set()

        thread = threading.Thread(target=read)
        thread.start()
        invitation = directory / "invitation"
        while not invitation.exists() and head.poll() is None:
            said.wait(0.05)
            said.clear()
        agents.append(subprocess.Popen([ligament, "agent", "--join", invitation, "--domain", "1", "--listen",
                                        "127.0.0.1"],
                                       **common))
        status = head.wait(timeout=60)
        thread.join(timeout=60)
        assert status == 0, "".join(lines)
        assert agents[0].wait(timeout=60) == 0
    finally:
        for process in [head, *agents]:
            if process.poll() is None:
                process.kill()
            process.wait()
    [came] = (directory / "instances" / "sink").rglob("came.json")
    came = json.loads(came.read_text())
    assert [(at, following, data[2][:2]) for at, following, data in came] == [
        (0, 0.5, [0, 0]), (0.5, 1, [2, 2]), (1, None, [4, 4])]


@pytest.mark.parametrize("end", ["receiver", "sender"])
def test_messages_under_other_settings_do_not_share_a_chunk(run, python_program, end):
    source = python_program("source", """
instance = Instance({Operator.O_I: ["out"]})
while instance.reuse_instance():
    for time, a in enumerate([1, 1, 1, 2, 2]):
        instance.send("out", Message(float(time), None, time, Settings({"a": a})))
""")
    sink = python_program("sink", """
instance = Instance({Operator.S: ["in"]}, flags=InstanceFlags.DONT_APPLY_OVERLAY)
while instance.reuse_instance():
    came = [instance.receive("in") for _ in range(3)]
    came = [(message.settings["a"], message.data["values"]) for message in came]
    assert came == [(1, [0, 1]), (1, [2]), (2, [3, 4])], came
""")
    done = run(chained(source, sink, f"[{{chunk: 2, at: {end}}}]"))
    assert done.status == 0, done.text


def test_what_a_chunk_still_holds_is_the_last_of_its_iteration(run, python_program):
    macro = python_program("macro", """
instance = Instance({Operator.O_I: ["call"], Operator.S: ["done", "profile"]})
while instance.reuse_instance():
    for step in range(2):
        instance.send("call", Message(10.0 * step, None, step))
        instance.receive("done")
        values = instance.receive("profile").data["values"]
        assert values == [10 * step + 2], values
""")
    meso = python_program("meso", """
instance = Instance({Operator.F_INIT: ["begin"], Operator.O_I: ["profile"], Operator.O_F: ["end"]})
while instance.reuse_instance():
    begin = instance.receive("begin")
    for step in range(3):
        instance.send("profile", Message(begin.timestamp + step, None, 10 * begin.data + step))
    instance.send("end", Message(begin.timestamp, None, None))
""")
    done = run(f"""ymmsl_version: v0.2
models:
  m:
    components:
      macro: {{implementation: macro, ports: {{o_i: call, s: done profile}}}}
      meso: {{implementation: meso, ports: {{f_init: begin, o_i: profile, o_f: end}}}}
    conduits:
      macro.call: meso.begin
      meso.end: macro.done
      meso.profile: last macro.profile
programs:
  macro: {macro}
  meso: {meso}
ligament:
  filters:
    meso.profile -> macro.profile: [{{chunk: 2, at: sender}}]
""")
    assert done.status == 0, done.text
