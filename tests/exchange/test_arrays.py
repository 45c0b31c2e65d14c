"""Parts of an array, from all ranks of one component to all ranks of another: every wanted element arrives
once, at its place, whatever the parts are."""

import os
import subprocess
import time
from pathlib import Path

import parts
import pytest

HERE = Path(__file__).parent

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      ocean: {{ports: {{{sends}: flux}}, implementation: ocean}}
      ice: {{ports: {{{receives}: flux}}, implementation: ice}}
    conduits: {{ocean.flux: ice.flux}}
programs: {{ocean: {ocean}, ice: {ice}}}
settings: {{seed: {seed}}}
ligament:
  ranks: {{ocean: {senders}, ice: {receivers}}}
  exchange: {{ocean.flux -> ice.flux: {{array: {shape}}}}}
{more}"""

DRAWN_MODEL = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import numpy as np
import parts
SENDERS, RECEIVERS = {{senders}}, {{receivers}}
"""

OCEAN = """
instance = Instance({Operator.O_I: ["flux"]})
while instance.reuse_instance():
    drawn = parts.rounds(instance.get_setting("seed"), SENDERS, RECEIVERS)
    assert list(instance.array_shape("flux")) == next(drawn)
    for number, (whole, order, mine, _) in enumerate(drawn):
        if mine is not None:
            part = mine[instance.rank]
            parts.declare(instance, "flux", part)
        instance.send("flux", Message(float(number), data=np.array(parts.elements(whole, part), order=order)))
"""

# Every second message is received into an array of its own, in either order.
ICE = """
instance = Instance({Operator.S: ["flux"]})
received = 0
while instance.reuse_instance():
    drawn = parts.rounds(instance.get_setting("seed"), SENDERS, RECEIVERS)
    next(drawn)
    for number, (whole, order, _, theirs) in enumerate(drawn):
        if theirs is not None:
            part = theirs[instance.rank]
            parts.declare(instance, "flux", part)
        expected = parts.elements(whole, part)
        if number % 2:
            data = np.full(expected.shape, 77, dtype=whole.dtype, order="CF"[number // 2 % 2])
            time = instance.receive_into("flux", data).timestamp
        else:
            if number % 4:
                assert instance.has_next("flux")
            message = instance.receive("flux")
            data, time = message.data, message.timestamp
        assert time == number and data.dtype == whole.dtype
        np.testing.assert_array_equal(data, expected)
        received += data.size
print("received", received)
"""


def drawn_model(python_program, seed, senders, receivers, more=""):
    head = DRAWN_MODEL.format(senders=senders, receivers=receivers)
    shape = next(parts.rounds(seed, senders, receivers))
    return MODEL.format(sends="o_i", receives="s", ocean=python_program("ocean", head + OCEAN),
                        ice=python_program("ice", head + ICE), seed=seed, senders=senders, receivers=receivers,
                        shape=shape, more=more)


def outputs(directory, instance, ranks):
    return [(directory / "instances" / instance / f"output.{rank}.log").read_text() for rank in range(ranks)]


@pytest.mark.parametrize("senders, receivers", [(1, 1), (1, 3), (2, 3), (4, 2), (3, 1), (8, 5)])
@pytest.mark.parametrize("seed", range(int(os.environ.get("LIGAMENT_SERIES", "1"))))
def test_every_element_that_is_wanted_arrives_at_its_place(run, python_program, seed, senders, receivers):
    model = drawn_model(python_program, 1000 * senders + 10 * receivers + seed, senders, receivers)
    done = run(model, "--overcommit")
    assert done.status == 0, done.text
    for text in outputs(done.directory, "ice", receivers):
        assert text.startswith("received "), text


def test_parts_of_an_array_in_another_domain(ligament, python_program, tmp_path):
    (tmp_path / "m.ymmsl").write_text(drawn_model(python_program, 7, 2, 3, "  place: {0: ocean, 1: ice}\n"))
    directory = tmp_path / "run"
    command = [ligament, "run", "m.ymmsl", "--domains", "1", "--listen", "127.0.0.1", "--overcommit"]
    with subprocess.Popen([*command, "--run-dir", directory], cwd=tmp_path) as head:
        deadline = time.monotonic() + 60
        while not (directory / "invitation").exists():
            assert head.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        subprocess.run([ligament, "agent", "--join", directory / "invitation", "--domain", "1", "--listen",
                        "127.0.0.1"], cwd=tmp_path, timeout=60, check=True)
        assert head.wait(timeout=60) == 0
    assert all(text.startswith("received ") for text in outputs(directory, "ice", 3))


CALLS = """ymmsl_version: v0.2
models:
  m:
    components:
      macro: {{ports: {{o_i: field, s: result}}, implementation: macro}}
      micro: {{ports: {{f_init: field, o_f: result}}, implementation: micro}}
    conduits: {{macro.field: micro.field, micro.result: macro.result}}
programs: {{macro: {macro}, micro: {micro}}}
ligament:
  ranks: {{macro: 2, micro: 3}}
  exchange:
    macro.field -> micro.field: {{array: [6, 10]}}
    micro.result -> macro.result: {{array: 60}}
"""

MACRO = """
import numpy as np
instance = Instance({Operator.O_I: ["field"], Operator.S: ["result"]})
rank = instance.rank
while instance.reuse_instance():
    instance.map_block("field", [3 * rank, 0], [3, 10])
    instance.map_range("result", 30 * rank, 30 * rank + 30)
    whole = np.arange(60.0).reshape(6, 10)
    for step in range(5):
        instance.send("field", Message(float(step), data=whole[3 * rank:3 * rank + 3] + step))
        result = instance.receive("result").data
        np.testing.assert_array_equal(result, 2 * (np.arange(30.0) + 30 * rank + step))
print("right")
"""

MICRO = """
import numpy as np
instance = Instance({Operator.F_INIT: ["field"], Operator.O_F: ["result"]})
columns = range(instance.rank, 10, 3)
numbers = [10 * row + column for row in range(6) for column in columns]
instance.map_list("field", numbers)
instance.map_list("result", numbers)
while instance.reuse_instance():
    message = instance.receive("field")
    assert not instance.has_next("field")
    instance.send("result", Message(message.timestamp, data=2 * message.data))
"""


def test_parallel_codes_call_each_other_in_the_reuse_loop(run, python_program):
    done = run(CALLS.format(macro=python_program("macro", MACRO), micro=python_program("micro", MICRO)),
               "--overcommit")
    assert done.status == 0, done.text
    assert outputs(done.directory, "macro", 2) == ["right\n"] * 2


# The mistakes of either side, and the texts of their errors.
SEND = """
instance = Instance({Operator.O_I: ["flux"]})
rank = instance.rank
while instance.reuse_instance():
    WHAT
"""
RECEIVE = """
instance = Instance({Operator.S: ["flux"]})
rank = instance.rank
while instance.reuse_instance():
    WHAT
"""
FINE = 'instance.map_range("flux", 10 * rank, 10 * rank + 10)'
FINE_SEND = FINE + '; instance.send("flux", Message(1.0, data=np.arange(10.0)))'
FINE_RECEIVE = FINE + '; instance.receive("flux")'


def part(numbers, time="1.0"):
    """Sends the numbers from 0 on."""
    return f'instance.send("flux", Message({time}, data=np.arange({numbers})))'


WRONG = {
    "an index beyond": ('instance.map_list("flux", [3, 20])', FINE_RECEIVE, "ocean:0",
                        "index 20 (entry 1 of the list)"),
    "a negative index": ('instance.map_list("flux", [-1])', FINE_RECEIVE, "ocean:0", "index -1"),
    "an index twice": ('instance.map_list("flux", [3, 4, 3])', FINE_RECEIVE, "ocean:0",
                       "index 3 is in the list twice"),
    "a block beyond": ('instance.map_block("flux", [15], [6])', FINE_RECEIVE, "ocean:0", "15 to 21"),
    "numbers that are none": ('instance.map_list("flux", [0.5])', FINE_RECEIVE, "ocean:0", "float64"),
    "a negative start": ('instance.map_block("flux", [-1], [6])', FINE_RECEIVE, "ocean:0",
                         "at least 0, not [-1]"),
    "no map of a sender": (part(10.0), FINE_RECEIVE, "ocean:0", "call map first"),
    "no map of a receiver": (FINE_SEND, 'instance.receive("flux")', "ice:0", "call map first"),
    "another shape": (f"{FINE}; {part(9.0)}", FINE_RECEIVE, "ocean:0",
                      "has the shape [10], and the array to send has [9]"),
    "no array": (FINE + '; instance.send("flux", Message(0.0, data=3.5))', FINE_RECEIVE, "ocean:0",
                 "send an array"),
    "another shape to receive into": (FINE_SEND, FINE + '; instance.receive_into("flux", np.zeros(4))', "ice:0",
                                      "has the shape [10], and the array to receive into has [4]"),
    "another type to receive into": (FINE_SEND, FINE + '; instance.receive_into("flux", np.zeros(10, "int32"))',
                                     "ice:0", "an array of float64 came on port"),
    "two owners": (f'instance.map_range("flux", 0, 12); {part(12.0)}', FINE_RECEIVE, "ice:",
                   "from ocean:0.flux and from ocean:1.flux"),
    "no owner": (f'instance.map_range("flux", 9 * rank, 9 * rank + 9); {part(9.0)}', FINE_RECEIVE, "ice:1",
                 "index 18, which no rank"),
    "another type of one rank": (f'{FINE}; {part("10, dtype=(float, np.int32)[rank]")}', FINE_RECEIVE, "ice:",
                                 "ocean:0.flux sends float64, and ocean:1.flux sends int32"),
    "another time of one rank": (f'{FINE}; {part(10.0, "1.0 + rank")}', FINE_RECEIVE, "ice:",
                                 "that of ocean:0.flux is of 1, and that of ocean:1.flux of 2"),
    "a rank that never maps": ("if rank: break\n    " + FINE_SEND, FINE_RECEIVE, "ice:",
                               "closed by its sender"),
    "a rank that ends early": (FINE_SEND, FINE_RECEIVE + '; instance.receive("flux")', "ice:",
                               "closed by its sender"),
}


def pair(python_program, ocean, ice):
    """A model in which two ranks of each side have an array of 20 elements."""
    return MODEL.format(sends="o_i", receives="s", ocean=python_program("ocean", ocean),
                        ice=python_program("ice", ice), seed=0, senders=2, receivers=2, shape=[20], more="")


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_names_rank_port_and_value(run, python_program, wrong):
    send, receive, rank, text = WRONG[wrong]
    head = "import numpy as np\n"
    ocean, ice = head + SEND.replace("WHAT", send), head + RECEIVE.replace("WHAT", receive)
    done = run(pair(python_program, ocean, ice), "--overcommit")
    assert done.status == 1, done.text
    assert text in done.text and rank in done.text, done.text
    assert "panicked" not in done.text, done.text


NO_ARRAY = """
instance = Instance({Operator.O_I: ["flux"]})
while instance.reuse_instance():
    for call in (lambda: instance.map_range("flux", 0, 1), lambda: instance.array_shape("flux")):
        try:
            call()
        except UsageError as error:
            print("no-array-port" in str(error), "exchange" in str(error))
    instance.send("flux", Message(0.0))
"""


def test_a_port_without_an_array_has_no_map(run, python_program):
    receives = RECEIVE.replace("WHAT", 'assert instance.receive("flux").data is None')
    model = pair(python_program, NO_ARRAY, receives)
    done = run(model.replace("  exchange: {ocean.flux -> ice.flux: {array: [20]}}\n", ""), "--overcommit")
    assert done.status == 0 and outputs(done.directory, "ocean", 2) == ["True True\n" * 2] * 2, done.text


ALONE = """
import numpy as np
instance = Instance({Operator.O_I: ["flux"]})
while instance.reuse_instance():
    instance.map_range("flux", 0, 5)
    assert instance.array_shape("flux") is None
    instance.send("flux", Message(0.0, data=np.arange(5.0)))
"""


def test_a_code_that_divides_an_array_runs_also_where_nothing_is_connected(run, python_program):
    model = f"""ymmsl_version: v0.2
models: {{m: {{components: {{ocean: {{ports: {{o_i: flux}}, implementation: ocean}}}}}}}}
programs: {{ocean: {python_program("ocean", ALONE)}}}
ligament: {{ranks: {{ocean: 2}}}}
"""
    done = run(model, "--overcommit")
    assert done.status == 0, done.text


KILLED = {
    "before its map": "os.kill(os.getpid(), 9)",
    "between map and message": FINE + "; os.kill(os.getpid(), 9)",
    "after a message": FINE_SEND + "; os.kill(os.getpid(), 9)",
}
KILLED_SENDER = """
import os
import time
import numpy as np
instance = Instance({Operator.O_I: ["flux"]})
rank = instance.rank
instance.reuse_instance()
if rank == 1:
    WHAT
while True:
    FINE_SEND
    time.sleep(0.01)
"""
KILLED_RECEIVER = """
import os
instance = Instance({Operator.S: ["flux"]})
rank = instance.rank
instance.reuse_instance()
FINE
instance.receive("flux")
if rank == 1:
    os.kill(os.getpid(), 9)
while True:
    instance.receive("flux")
"""


def killed(python_program, ocean, ice):
    return pair(python_program, ocean.replace("FINE_SEND", FINE_SEND), ice.replace("FINE", FINE))


@pytest.mark.parametrize("phase", KILLED)
def test_a_sending_rank_that_is_killed_ends_the_run_and_is_named(run, python_program, phase):
    receiver = KILLED_RECEIVER.replace("rank == 1", "False")
    done = run(killed(python_program, KILLED_SENDER.replace("WHAT", KILLED[phase]), receiver), "--overcommit")
    assert done.status == 1 and "ocean:1" in done.text and "SIGKILL" in done.text, done.text


def test_a_receiving_rank_that_is_killed_ends_the_run_and_is_named(run, python_program):
    sender = KILLED_SENDER.replace("rank == 1", "False").replace("WHAT", "pass")
    done = run(killed(python_program, sender, KILLED_RECEIVER), "--overcommit")
    assert done.status == 1 and "ice:1" in done.text and "SIGKILL" in done.text, done.text


def test_pictures_and_predictions_know_no_slots_of_an_array(ligament, run, python_program):
    done = run(drawn_model(python_program, 3, 2, 3), "--overcommit")
    assert done.status == 0, done.text
    model = str(done.directory.with_name("model1.ymmsl"))
    graph = subprocess.run([ligament, "graph", model], capture_output=True, text=True, check=True).stdout
    assert "flux → ice.flux (S)" in graph, graph
    command = [ligament, "predict", model, "--from", done.directory]
    predicted = subprocess.run(command, capture_output=True, text=True, check=False)
    assert predicted.returncode == 0 and "ocean.flux → ice.flux" in predicted.stdout, predicted.stderr
