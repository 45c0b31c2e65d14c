"""Components that come with Ligament, in runs with checkpoints: sources save their place, mappers keep nothing,
sinks begin new files, and those in Python save what the user's classes say."""

import pytest
from conftest import implementations
from test_resume import every

CHAIN = """
ymmsl_version: v0.2
models:
  chain:
    components:
      table: {ports: {o_i: out}, implementation: ligament.sources.csv}
      series: {ports: {o_i: out}, implementation: ligament.sources.time_series}
      sums: {ports: {f_init: [a, b], o_f: out}, implementation: ligament.mappers.combine}
      copies: {ports: {f_init: in, o_f: out}, implementation: ligament.mappers.duplicate}
      file: {ports: {f_init: in}, implementation: ligament.sinks.csv}
      listener: {ports: {s: in}, implementation: listener}
    conduits:
      table.out: sums.a
      series.out: sums.b
      sums.out: copies.in
      copies.out: [file.in, listener.in]
settings:
  table.file: PLACE/table.csv
  series.times: [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
  series.values: [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 0.5]
  sums.as: sum
"""

PYTHON = """
ymmsl_version: v0.2
models:
  chain:
    components:
      rain: {ports: {o_i: out}, implementation: ligament.sources.python}
      sums: {ports: {f_init: in, o_f: out}, implementation: ligament.mappers.python}
      half: {ports: {f_init: in, o_f: out}, implementation: ligament.mappers.python}
      total: {ports: {f_init: in}, implementation: ligament.sinks.python}
      shown: {ports: {f_init: in}, implementation: ligament.sinks.python}
      listener: {ports: {s: in}, implementation: listener}
    conduits:
      rain.out: sums.in
      sums.out: [half.in, total.in]
      half.out: [listener.in, shown.in]
settings:
  rain.function: PLACE/parts.py:rain
  sums.function: PLACE/parts.py:Sums
  half.function: PLACE/parts.py:half
  total.function: PLACE/parts.py:Total
  shown.function: PLACE/parts.py:show
"""

PARTS = """
from ligament import InstanceFlags, Mapper, Message

def rain():
    for hour in range(10):
        yield float(hour), 0.1 * hour

class Sums(Mapper):
    def __init__(self, instance):
        self.sum = 0.0
    def map(self, messages):
        self.sum = 0.75 * self.sum + messages["in"].data
        return {"out": self.sum}
    def save(self, instance):
        instance.save_snapshot(Message(0.0, None, self.sum))
    def restore(self, instance):
        self.sum = instance.load_snapshot().data

def half(messages):
    return {"out": 0.5 * messages["in"].data}

class Total:
    flags = InstanceFlags.USES_CHECKPOINT_API
    def __init__(self):
        self.total = 0.0
    def __call__(self, message):
        self.total += message.data
        print("total", repr(self.total), flush=True)
    def save(self, instance):
        instance.save_snapshot(Message(0.0, None, self.total))
    def restore(self, instance):
        self.total = instance.load_snapshot().data

def show(message):
    print("shown", message.data, flush=True)
"""


@pytest.fixture
def chain(tmp_path):
    rows = "\n".join(f"{number},{0.1 * number}" for number in range(10))
    (tmp_path / "table.csv").write_text(f"time,value\n{rows}\n")
    return CHAIN.replace("PLACE", str(tmp_path)) + implementations("listener")


def written(run):
    return run.file("file", "*.csv").splitlines()


def test_sources_save_their_place_mappers_keep_nothing_and_sinks_begin_new_files(start, chain):
    plain = start(chain)
    assert plain.status == 0 and plain.end("listener").count("\n") == 11, plain.text
    saved = start(chain + every(3.0))
    assert saved.status == 0 and saved.end("listener") == plain.end("listener"), saved.text
    whole = written(saved)
    found = saved.checkpoints()
    assert len(found) >= 2, saved.text
    lengths = set()
    for number, record in found.items():
        resumed = start(chain, saved.resume_file(number))
        assert resumed.status == 0, resumed.text
        if "listener" not in record["over"]:
            assert resumed.end("listener") == saved.end("listener"), record
        if "file" not in record["over"]:
            rows = written(resumed)
            assert rows[0] == whole[0] and rows[1:] == whole[len(whole) - len(rows) + 1:], record
            lengths.add(len(rows))
    assert any(1 < length < len(whole) for length in lengths), lengths


@pytest.fixture
def python_chain(tmp_path):
    (tmp_path / "parts.py").write_text(PARTS)
    return PYTHON.replace("PLACE", str(tmp_path)) + implementations("listener")


def test_components_in_python_save_what_their_functions_say(start, python_chain):
    model = python_chain
    plain, saved = start(model), start(model + every(2.0))
    assert plain.status == 0 and plain.end("listener").count("\n") == 11, plain.text
    assert saved.status == 0 and saved.end("listener") == plain.end("listener"), saved.text
    totals = saved.file("total", "output.log").splitlines()
    found = saved.checkpoints()
    assert len(found) >= 3, saved.text
    for number, record in found.items():
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0, resumed.text
        if "listener" not in record["over"]:
            assert resumed.end("listener") == plain.end("listener"), record
        if "total" not in record["over"]:
            rows = resumed.file("total", "output.log").splitlines()
            assert 0 < len(rows) < len(totals) and rows == totals[-len(rows):], record


def test_a_class_in_python_that_does_not_say_what_it_keeps_is_refused(start, python_chain, tmp_path):
    model = python_chain
    (tmp_path / "parts.py").write_text(PARTS.replace("flags =", "other ="))
    refused = start(model + every(2.0))
    assert refused.status != 0 and "total says that it saves its state, and has no functions" in refused.text
    (tmp_path / "parts.py").write_text(PARTS.replace("def save", "def other"))
    refused = start(model + every(2.0))
    assert refused.status != 0 and "has no function" in refused.text, refused.text


def test_a_source_that_has_lost_messages_is_named(start, chain, tmp_path):
    saved = start(chain + every(3.0))
    assert saved.status == 0, saved.text
    (tmp_path / "table.csv").write_text("time,value\n0,0.0\n1,0.1\n")
    number = max(number for number, record in saved.checkpoints().items() if "table" not in record["over"])
    refused = start(chain, saved.resume_file(number))
    assert refused.status != 0 and "the run that is resumed had sent" in refused.text, refused.text
