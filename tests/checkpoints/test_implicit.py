"""`ligament.mappers.implicit` saves its state within windows and between them, and a run that resumes makes the
same iterations, bit for bit, as the undisturbed one."""

import pytest

WINDOWS = """
ymmsl_version: v0.2
models:
  windows:
    components:
      one: {ports: {o_i: out, s: in}, implementation: room}
      two: {ports: {o_i: out, s: in}, implementation: room}
      between: {implementation: ligament.mappers.implicit}
    conduits:
      one.out: between.one_in
      between.one_out: two.in
      two.out: between.two_in
      between.two_out: one.in
settings:
  one.begin: 1.0
  two.begin: -2.0
  between.window: 0.5
  between.until: 3.0
  between.relative_limit: 1.0e-10
"""

ROOM = """
import numpy as np

matrix = np.array([[0.5, -1.5, 0.25], [2.0, 0.25, 0.5], [0.0, 0.5, -2.0]])


def note(name, mode, text):
    with open(name, mode) as file:
        file.write(text + "\\n")


instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]}, InstanceFlags.USES_CHECKPOINT_API)
while instance.reuse_instance():
    if instance.resuming():
        time, reached, begin, end, accepted, computed, came = instance.load_snapshot().data
        accepted, computed, came = (np.array(one) for one in (accepted, computed, came))
    if instance.should_init():
        computed = np.full(3, instance.get_setting("begin", "float"))
        accepted = computed
        instance.send("out", Message(0.0, None, computed))
        message = instance.receive("in")
        time = reached = begin = message.timestamp
        end, came = message.next_timestamp, np.array(message.data)
    while end is not None:
        if begin > time:
            time, accepted = begin, computed
        computed = (accepted + (end - time) * (np.tanh(matrix @ came) + 0.2 * came)) / (1.0 + end - time)
        instance.send("out", Message(end, None, computed))
        message = instance.receive("in")
        reached, begin, end, came = end, message.timestamp, message.next_timestamp, np.array(message.data)
        note("steps.txt", "a", computed.tobytes().hex())
        if instance.should_save_snapshot(reached):
            state = [time, reached, begin, end, accepted, computed, came]
            instance.save_snapshot(Message(reached, None, state))
    if instance.should_save_final_snapshot():
        state = [time, reached, begin, end, accepted, computed, came]
        instance.save_final_snapshot(Message(reached, None, state))
    note("end.txt", "w", came.tobytes().hex())
"""

METHODS = {
    "parallel-iqn-ils": {"reused_windows": 3},
    "parallel-iqn-imvj": {"acceleration": "iqn-imvj", "restart_windows": 2},
    "parallel-constant": {"acceleration": "constant", "relaxation": 0.4},
    "serial-iqn-ils": {"scheme": "serial-implicit", "first": "one"},
    "serial-aitken": {"scheme": "serial-implicit", "first": "one", "acceleration": "aitken"},
    "explicit": {"scheme": "parallel-explicit"},
}
RULES = "checkpoints: {simulation_time: [{at: [0.2, 1.0, 1.8]}]}\n"
KEEP = "ligament: {checkpoints: {keep: 100}}\n"


def rows(run):
    """The table of the windows without its header."""
    files = list(run.directory.glob("**/between.csv"))
    assert len(files) == 1, files
    return files[0].read_text().splitlines()[1:]


@pytest.mark.parametrize("method", METHODS)
def test_windows_go_on_where_they_were_saved(start, python_code, method):
    settings = "".join(f"  between.{name}: {value}\n" for name, value in METHODS[method].items())
    model = WINDOWS + settings + f"programs:\n  room: {python_code('room', ROOM)}\n"
    plain, saved = start(model), start(model + RULES + KEEP)
    assert plain.status == 0 and len(rows(plain)) == 6, plain.text
    iterations = [int(row.split(",")[3]) for row in rows(plain)]
    assert all(number > 3 for number in iterations) or method == "explicit", iterations
    assert saved.status == 0 and rows(saved) == rows(plain), saved.text
    found = saved.checkpoints()
    assert len(found) == 3, saved.text
    made = set()
    for number, record in found.items():
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0 and "never received" not in resumed.text, resumed.text
        for name in {"one", "two"}.difference(record["over"]):
            assert resumed.end(name) == plain.end(name), record
            # The last iterations are those of the undisturbed run.
            steps = resumed.file(name, "steps.txt").splitlines()
            assert steps == plain.file(name, "steps.txt").splitlines()[-len(steps):] or not steps, record
            made.add(len(steps))
        if "between" not in record["over"]:
            table = rows(resumed)
            assert table == rows(plain)[len(rows(plain)) - len(table):], record
    # Checkpoints lie within windows, and for the explicit scheme between them.
    ends = {sum(iterations[window:]) for window in range(7)}
    assert method == "explicit" or made - ends, (made, iterations)


def test_other_windows_than_those_of_the_checkpoint_are_refused(start, python_code):
    model = WINDOWS + f"programs:\n  room: {python_code('room', ROOM)}\n"
    saved = start(model + RULES + KEEP)
    assert saved.status == 0, saved.text
    number = min(saved.checkpoints())
    longer = start(model, saved.resume_file(number), arguments=["-s", "between.until=4.0"])
    assert longer.status == 0, longer.text
    refused = start(model, saved.resume_file(number), arguments=["-s", "between.scheme=serial-implicit",
                                                                 "-s", "between.first=one"])
    assert refused.status != 0 and "has other windows, data or another scheme" in refused.text, refused.text
