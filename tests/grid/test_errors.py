"""Impossible grids, and blocks that make different calls, are errors that name the cause."""

import subprocess
from pathlib import Path

import pytest
from compilers import compiled, compiled_fortran

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      wave: {{implementation: wave{component}}}
programs: {{wave: {program}}}
ligament:
  {more}
  grids:
    {name}: {grid}
"""
PROGRAM = """
import numpy
instance = Instance()
while instance.reuse_instance():
    domain = Domain(instance)
    BODY
"""


def model(program="{executable: 'true'}", grid="{shape: [8, 8], blocks: [2, 1]}", name="wave", component="",
          more="wait: auto"):
    return MODEL.format(program=program, grid=grid, name=name, component=component, more=more)


@pytest.mark.parametrize(("change", "why"), [
    ({"grid": "{shape: [8, 8]}"}, "a grid has a shape and a number of blocks"),
    ({"grid": "{shape: [8, 8], blocks: [2]}"}, "2 numbers of points and 1 of blocks"),
    ({"grid": "{shape: [2, 8], blocks: [3, 1]}"}, "along x, 2 points cannot be divided into 3 blocks"),
    ({"grid": "{shape: [8, 8], blocks: [0, 1]}"}, "number of blocks along an axis"),
    ({"grid": "{shape: [8, 8, 8, 8], blocks: [1, 1, 1, 1]}"}, "a grid has 1 to 3 axes"),
    ({"grid": "{shape: [8, 8], blocks: [2, 1], periodic: [z]}"}, '"z" is no axis of this grid'),
    ({"grid": "{shape: [8, 8], blocks: [2, 1], periodic: x, mirrored: x}"}, "edges along x are given twice"),
    ({"grid": "{shape: [800000, 800000], blocks: [800000, 800000]}"}, "at most 65536 blocks"),
    ({"name": "wav"}, '"wav" stands under "grids:", and there is no such component'),
    ({"component": ", multiplicity: 3"}, '"wave" has the multiplicity [3], and its grid the blocks [2, 1]'),
    ({"more": "ranks: {wave: 3}"}, '"wave" has 3 ranks, and its grid 2 blocks'),
    ({"more": "light: wave"}, '"wave" has a grid, and shares its process with others'),
    ({"component": ", ports: {o_i: ghosts_out}"}, 'declares a port "ghosts_out", which its grid brings'),
    ({"more": 'filters: {wave.ghosts_out: [{multiply: 2}]}'}, 'the ghosts of "wave" have the filter multiply'),
])
def test_a_grid_that_cannot_be_is_refused(ligament, tmp_path, change, why):
    (tmp_path / "m.ymmsl").write_text(model(**change))
    done = subprocess.run([ligament, "check", "m.ymmsl"], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.returncode != 0 and why in " ".join(done.stdout.split()), done.stdout


@pytest.mark.parametrize(("body", "why"), [
    ('domain.field("u", ghosts=5)', 'the field "u" has 5 ghosts, and the smallest block has 4 points along x'),
    ('domain.field("u"); domain.field("u")', '"u" is taken or empty'),
    ('domain.field("u", numpy.zeros((5, 10)))', 'the field "u" has the shape (5, 10)'),
    ('domain.field("u", numpy.zeros((6, 20))[:, ::2])',
     'the array of the field "u" must be a writable NumPy array, contiguous in C or Fortran order'),
    ('u = domain.field("u"); u.flags.writeable = False; domain.exchange(0.0, u)',
     'the array of the field "u" must be a writable'),
    ('domain.field("u", numpy.ma.zeros((6, 10)))', 'the array of the field "u" has a mask'),
    ('domain.exchange(0.0, numpy.zeros((6, 10)))', "this array is no field's of the domain"),
    ('u = domain.field("u"); domain.exchange(0.0, u, u)', 'the field "u" stands twice'),
    ('u = domain.field("u"); domain.begin(0.0, u); domain.begin(0.0, u)', "has begun and not ended"),
    ('domain.end()', "no exchange of ghosts has begun"),
    ('u = domain.field("uw"[domain.block]); domain.exchange(0.0, u)', 'this block exchanges the fields "'),
    ('u = domain.field("u", dtype=["f4", "f8"][domain.block]); domain.exchange(0.0, u)', "(float64, 1 ghosts"),
    ('u = domain.field("u"); domain.exchange(float(domain.block), u)', "let all blocks exchange at the same"),
    ('u = domain.field("u"); domain.exchange(0.0, u) if domain.block else domain.sum(u)', "deadlock"),
    ('u = domain.field("u"); domain.sum("text")', "cannot all be made doubles"),
    ('domain.sum(numpy.array([2**53 + 1]))', "numbers of the type int64 cannot all be made doubles"),
    ('domain.sum(numpy.ma.masked_equal([1, 2], 2))', "some numbers are masked"),
    ('domain.min(1.0) if domain.block else domain.max(1.0)', "this block calls m"),
    ('u = domain.field("u"); domain.begin(0.0, u); Domain(instance).sum(1.0)', "has begun and not ended"),
    ('u = domain.field("u"); domain.exchange(float("nan"), u)', "the time of an exchange is NaN"),
    ('u = domain.field("u"); u.shape = (10, 6); domain.exchange(0.0, u)', '"u" has the shape [10, 6]'),
    ('domain.field("u", order="f")', "an order is"),
    ('domain.field("u", ghosts=-1)', 'cannot have -1 ghosts'),
    ('domain.at_edge(2)', "this grid has no axis 2"),
])
def test_blocks_that_do_not_fit_are_named(run, python_program, body, why):
    done = run(model(python_program("wave", PROGRAM.replace("BODY", body))), "--overcommit")
    assert done.status != 0, done.text
    text = " ".join(done.text.split())
    assert why in text, done.text


def test_a_code_without_a_grid_is_told_so(run, python_program):
    text = f"""ymmsl_version: v0.2
models: {{m: {{components: {{wave: {{implementation: wave}}}}}}}}
programs: {{wave: {python_program("wave", PROGRAM.replace("BODY", "pass"))}}}
"""
    done = run(text)
    text = " ".join(done.text.split())
    assert done.status != 0 and '"wave" is no block of a grid; give its component a grid' in text


def test_a_block_that_ends_too_early_ends_the_run(run, python_program):
    body = """
    u = domain.field("u")
    for step in range(100):
        if step == 50 and domain.block == 1:
            import os
            os.kill(os.getpid(), 9)
        domain.exchange(float(step), u)
"""
    done = run(model(python_program("wave", PROGRAM.replace("BODY", body))), "--overcommit")
    assert done.status != 0 and "wave[1][0]" in done.text and "SIGKILL" in done.text, done.text
    # The neighbour is not to blame.
    assert "wave[0][0] failed" not in done.text, done.text


def test_after_an_exchange_that_failed_no_other_one_takes_its_messages(run, python_program):
    body = """
    u = domain.field("u")
    try:
        domain.exchange(float(domain.block), u)
    except UnexpectedError:
        domain.exchange(5.0, u)
"""
    done = run(model(python_program("wave", PROGRAM.replace("BODY", body))), "--overcommit")
    assert done.status != 0 and "has failed before" in " ".join(done.text.split()), done.text


def test_another_thread_sees_the_block_while_an_exchange_waits(run, python_program, tmp_path):
    body = """
    import os, threading
    u, looked = domain.field("u"), "LOOKED"
    if domain.block == 0:
        seen = []
        def look():
            # The instance refuses a second call while the exchange waits.
            try:
                while True:
                    instance.list_ports()
            except UsageError:
                seen.append((domain.shape, domain.range, domain.at_edge(0)))
            open(looked, "w").close()
        thread = threading.Thread(target=look)
        thread.start()
        domain.exchange(0.0, u)
        thread.join()
        print(seen[0][0])
    else:
        while not os.path.exists(looked):
            pass
        domain.exchange(0.0, u)
"""
    body = body.replace("LOOKED", str(tmp_path / "looked"))
    done = run(model(python_program("wave", PROGRAM.replace("BODY", body))), "--overcommit", limit=60)
    assert done.status == 0 and done.file("wave[0][0]", "output.log").strip() == "[8, 8]", done.text


def test_the_sender_that_has_ended_is_named(run, python_program):
    body = """
    u = domain.field("u")
    for step in range(3):
        if step < 2 or domain.block != 2:
            domain.exchange(float(step), u)
"""
    grid = "{shape: [8, 8], blocks: [4, 1], periodic: [x]}"
    done = run(model(python_program("wave", PROGRAM.replace("BODY", body)), grid=grid), "--overcommit")
    text = " ".join(done.text.split())
    assert done.status != 0 and "closed by its sender (wave[2][0].ghosts_out" in text, done.text


SELF = """ymmsl_version: v0.2
models:
  m:
    components:
      block: {{implementation: block, multiplicity: {multiplicity}, ports: {{o_i: to, s: back}}}}
      other: {{implementation: block, ports: {{s: seen}}}}
    conduits: {{{conduits}}}
programs: {{block: {{executable: 'true'}}}}
{more}
"""


@pytest.mark.parametrize(("model", "why"), [
    ({"conduits": "block.to: block.back", "multiplicity": "4"},
     'this conduit joins each instance of "block" to itself: what it sends on "to", it receives on "back"'),
    ({"conduits": "'block.to[0]': 'block.back[1]'", "multiplicity": "4"}, 'each instance of "block" to itself'),
    ({"conduits": "block.to: block.back", "multiplicity": "[]"}, 'this conduit joins "block" to itself'),
    ({"conduits": "block.to: other.seen", "multiplicity": "[]",
      "more": "ligament: {grids: {block: {shape: [8, 8], blocks: [2, 2]}}}"},
     'make the blocks of the grid of "block" the ranks of one instance: "ranks: {block: 4}"'),
])
def test_conduits_that_join_no_neighbours_are_pointed_out(ligament, tmp_path, model, why):
    (tmp_path / "m.ymmsl").write_text(SELF.format(**{"more": ""} | model))
    done = subprocess.run([ligament, "check", "m.ymmsl"], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)
    assert why in " ".join(done.stdout.split()), done.stdout


def test_a_grid_has_no_warning_of_a_conduit_to_itself(ligament, tmp_path):
    (tmp_path / "m.ymmsl").write_text(model())
    done = subprocess.run([ligament, "check", "m.ymmsl"], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.returncode == 0 and "to itself" not in done.stdout, done.stdout


MISTAKES = {
    "gaps": '2, a section with gaps cannot be the field "w"',
    "shape": '2, the array of the field "w" has the shape [12, 10], and the block with its ghosts has [6, 10]',
    "ghosts": '2, the field "w" cannot have -1 ghosts',
    "memory": '2, the array of the field "w" shares memory with that of the field "u"',
    "name": '2, a field needs a name of its own, and "u" is taken or empty',
    "logical": '2, truth values of more than one byte cannot be the field "w"',
    "absent": '2, an array that is not allocated, or not associated, cannot be the field "w"',
    "texts": "2, an array of texts leaves no text",
    "type": "2, this array is of another type, shape or order than that with which field 0 was added",
    "number": "2, the grid has no field with the number 7",
    "unknown": "2, the grid has no field with the number 7",
    "end": "2, no exchange of ghosts has begun",
    "publish": "2, ",
    "integers": "2, integer of 4 bytes cannot be reduced: give reals of 4 or 8 bytes",
    "freed": "2, there is no domain here: it was freed, or never made",
    "instance": "2, the instance of this domain was freed; free the domain before it",
}


CPP_PROGRAM = """
#include <ligament/ligament.hpp>

int main() {
    ligament::Instance instance;
    while (instance.reuse_instance()) {
        ligament::Domain domain(instance);
        double numbers[60] = {};
        float others[60] = {};
        const ligament::Field u = domain.add_field("u", numbers, 1);
        BODY;
    }
}
"""


@pytest.mark.parametrize(("body", "why"), [
    ("domain.set_data(u, others)",
     'array of the field "u" has the type float32, and the field was added with float64'),
    ('domain.add_field("w", numbers, 1)', 'array of the field "w" shares memory with that of the field "u"'),
    ('domain.add_field("w", others, 1); domain.set_data(u, reinterpret_cast<double *>(others))',
     'array of the field "u" shares memory with that of the field "w"'),
    ("double more[60]; domain.begin(0.0, {u}); domain.set_data(u, more); domain.end({u})",
     'the field "u" has another array than at the begin of its exchange'),
])
def test_mistakes_with_arrays_in_cpp_name_the_field(run, tmp_path, body, why):
    (tmp_path / "mistake.cpp").write_text(CPP_PROGRAM.replace("BODY", body))
    program = compiled(["g++", "-std=c++17"], tmp_path / "mistake.cpp", tmp_path / "mistake")
    done = run(model(f"{{executable: {program}}}"), "--overcommit")
    assert done.status != 0 and why in " ".join(done.text.split()), done.text


def test_mistakes_in_fortran_are_named(run, tmp_path):
    program = compiled_fortran(["-O1", "-fcheck=all"], Path(__file__).parent / "mistakes.f90",
                               tmp_path / "mistakes")
    done = run(model(f"{{executable: {program}}}"), "--overcommit")
    assert done.status == 0, done.text
    lines = done.file("wave[0][0]", "output.log").splitlines()
    printed = dict(line.strip().split(": status ", 1) for line in lines)
    assert [what for what, why in MISTAKES.items() if not printed[what].startswith(why)] == [], printed
    assert printed.keys() == MISTAKES.keys()
