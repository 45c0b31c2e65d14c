"""Components that come with Ligament, in runs with checkpoints: sources save their place, mappers keep nothing,
and sinks begin new files."""

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

IMPLICIT = """
ymmsl_version: v0.2
models:
  windows:
    components:
      one: {ports: {o_i: out, s: in}, implementation: peer}
      two: {ports: {o_i: out, s: in}, implementation: peer}
      between: {implementation: ligament.mappers.implicit}
    conduits:
      one.out: between.one_in
      between.one_out: one.in
      two.out: between.two_in
      between.two_out: two.in
settings: {between.window: 1.0, between.until: 3.0}
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


def test_a_component_whose_state_cannot_be_saved_is_named(start):
    refused = start(IMPLICIT + implementations("peer") + every(1.0))
    assert refused.status != 0 and "between is a ligament.mappers.implicit" in refused.text, refused.text
