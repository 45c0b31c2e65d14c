"""An exchange of a field whose values travel in one direction fills only the ghosts from which they come."""

import itertools
from pathlib import Path

import compilers
import pytest
import rust_examples
import test_wave

HERE = Path(__file__).parent

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      wave: {{implementation: wave}}
programs: {{wave: {program}}}
ligament:
  overcommit: true
  {more}
  grids:
    wave: {{shape: [6, 8, 5], blocks: {blocks}, periodic: [x, z]}}
"""
# Each block checks all ghosts of a field for each direction. Those that are not filled keep the number -1.
PROGRAM = """
import itertools
import numpy
instance = Instance()
while instance.reuse_instance():
    domain = Domain(instance)
    whole = numpy.arange(240.0).reshape(domain.shape)
    directions = list(itertools.product((-1, 0, 1), repeat=3))
    fields = [domain.field(f"f{number}") for number in range(len(directions))]
    for field, direction in zip(fields, directions):
        field[...] = -1
        domain.interior(field)[...] = whole[domain.range]
        domain.set_direction(field, direction)
    PHRASE
    begins = [one.start - 1 for one in domain.range]
    is_edge = [domain.at_edge(axis) for axis in range(3)]
    for field, direction in zip(fields, directions):
        for place in numpy.ndindex(*field.shape):
            side = [-1 if at == 0 else 1 if at == length - 1 else 0 for at, length in zip(place, field.shape)]
            point = tuple((begin + at) % length for begin, at, length in zip(begins, place, domain.shape))
            is_beyond = side[1] != 0 and is_edge[1][side[1] > 0]
            comes = all(one == 0 or one == -step for one, step in zip(side, direction))
            expected = whole[point] if comes and not is_beyond else -1
            assert field[place] == expected, (direction, place, field[place], expected)
    print("all ghosts are right")
"""
PHRASES = {"exchange": "domain.exchange(0.0, *fields)", "halves": "domain.begin(0.0, *fields); domain.end()",
           "twice": "domain.exchange(0.0, *fields); domain.exchange(1.0, *fields)",
           # One direction by itself: at the end of a row of blocks, more comes than goes, or the reverse.
           "alone": "[domain.exchange(0.0, field) for field in fields]"}


@pytest.mark.parametrize(("blocks", "ranks"), [((1, 1, 1), False), ((2, 2, 1), False), ((2, 2, 1), True),
                                               ((1, 2, 2), False), ((3, 1, 1), False)])
@pytest.mark.parametrize("phrase", PHRASES)
def test_only_the_ghosts_from_which_values_come_are_filled(run, python_program, blocks, ranks, phrase):
    program = python_program("wave", PROGRAM.replace("PHRASE", PHRASES[phrase]))
    number = blocks[0] * blocks[1] * blocks[2]
    more = f"ranks: {{wave: {number}}}" if ranks else "wait: auto"
    done = run(MODEL.format(program=program, blocks=list(blocks), more=more))
    assert done.status == 0, done.text
    if not ranks:
        for place in itertools.product(*map(range, blocks)):
            name = "wave" + "".join(f"[{one}]" for one in place)
            assert "all ghosts are right" in done.file(name, "output.log")


@pytest.mark.parametrize(("phrase", "why"), [
    ("domain.set_direction(fields[0], (1, 0))", 'the direction of the field "f0" is [1, 0]; give -1, 0 or 1'),
    ("domain.set_direction(fields[0], (2, 0, 0))", "the direction of a field is [2, 0, 0]"),
    ("domain.set_direction(whole, (1, 0, 0))", "this array is no field's of the domain"),
    ("domain.begin(0.0, *fields); domain.set_direction(fields[0], (1, 0, 0))", "has begun and not ended"),
    ("domain.set_direction(fields[0], (domain.block, 0, 0)); domain.exchange(0.0, *fields)",
     "towards [1, 0, 0]), \"f1\""),
])
def test_a_direction_that_cannot_be_is_an_error(run, python_program, phrase, why):
    program = python_program("wave", PROGRAM.replace("PHRASE", phrase))
    done = run(MODEL.format(program=program, blocks=[2, 1, 1], more="wait: auto"))
    assert done.status != 0 and why in " ".join(done.text.split()), done.text


def compiled(language, folder):
    """Returns the program `travel` in a language."""
    if language == "rust":
        return rust_examples.example("travel", "ligament-grid")
    program = folder / "travel"
    if language == "fortran":
        options = [*test_wave.EXACT, "-Wno-maybe-uninitialized"]
        return compilers.compiled_fortran(options, HERE / "travel.f90", program)
    words = {"c": ["gcc", "-std=c11"], "cpp": ["g++", "-std=c++17"]}[language]
    source = {"c": "travel.c", "cpp": "travel.cpp"}[language]
    return compilers.compiled([*words, *test_wave.EXACT], HERE / source, program)


@pytest.mark.parametrize("language", ["c", "cpp", "fortran", "rust"])
def test_a_field_travels_up_or_down_in_each_language(run, tmp_path, language):
    program = compiled(language, tmp_path)
    for blocks in (1, 3):
        model = MODEL.format(program=f"{{executable: {program}}}", blocks=[blocks], more="wait: auto")
        done = run(model.replace("[6, 8, 5]", "[10]").replace("[x, z]", "[x]"))
        assert done.status == 0, done.text
