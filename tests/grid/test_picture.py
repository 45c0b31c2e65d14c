"""All blocks of a picture of a grid have one model time, and the run never waits for a viewer."""

import json
import signal
import subprocess
import time
from pathlib import Path

import numpy
import pictures
import pytest
import test_wave
from test_wave import command  # noqa: F401

LIMIT = 120
SHAPE = (14, 13, 12)


class Grid:
    """A run of a grid whose blocks publish their fields."""

    def __init__(self, ligament, path):
        self.ligament, self.path = ligament, path

    def begin(self, model):
        (self.path / "m.ymmsl").write_text(model)
        subprocess.run([self.ligament, "run", "m.ymmsl", "--run-dir=run", "--detach"], cwd=self.path,
                       check=True, capture_output=True, timeout=LIMIT)
        return self

    def tap(self, *words, status=0):
        done = subprocess.run([self.ligament, "tap", "run", *map(str, words)], cwd=self.path, text=True,
                              capture_output=True, timeout=LIMIT)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + (done.stderr if status else "")

    def watch(self, *words):
        words = [*map(str, words), "--timeout", str(LIMIT)]
        return subprocess.Popen([self.ligament, "tap", "run", *words], cwd=self.path, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def instances(self):
        told = subprocess.run([self.ligament, "status", "run", "--json"], cwd=self.path, capture_output=True,
                              text=True, check=True, timeout=LIMIT)
        return json.loads(told.stdout)["instances"]

    def step(self):
        """The model time of block 0 at its next step."""
        return json.loads(self.tap("wave.u", "--once", "--json"))["timestamp"]

    def end(self):
        subprocess.run([self.ligament, "stop", "run"], cwd=self.path, capture_output=True, timeout=LIMIT)


@pytest.fixture
def grid(ligament, tmp_path):
    made = Grid(ligament, tmp_path)
    yield made
    made.end()


def model(program, blocks, shape=SHAPE, periodic=(), more="wait: auto"):
    return pictures.MODEL.format(program=program, shape=list(shape), blocks=list(blocks),
                                 periodic=list(periodic), more=more)


RANKS = "ranks: {wave: 4}"


@pytest.mark.parametrize(("blocks", "shape", "more", "order"), [
    ((2, 2, 1), SHAPE, "wait: auto", "F"), ((2, 2, 1), SHAPE, RANKS, "C"), ((3,), (50,), "wait: auto", "C"),
])
def test_all_blocks_of_each_picture_are_of_one_step(grid, python_program, blocks, shape, more, order):
    grid.begin(model(pictures.program(python_program, "pass", order), blocks, shape, more=more))
    viewer = grid.watch("wave.u", "--json", "--every", 0, "--share", "100%")
    distance, times = pictures.distance(shape), []
    for _ in range(100):
        told = json.loads(viewer.stdout.readline())
        array = told["value"]["array"]
        values = numpy.array(array["data"]).reshape(array["shape"])
        assert told["blocks"] == numpy.prod(blocks) and array["unit"] == "m"
        assert numpy.array_equal(values, distance + 2 * told["timestamp"])
        times.append(told["timestamp"])
    assert times == sorted(set(times))
    viewer.send_signal(signal.SIGINT)
    viewer.communicate(timeout=LIMIT)


def test_surfaces_of_blocks_close_and_are_those_of_one_block(grid, ligament, python_program, tmp_path):
    program = pictures.program(python_program)
    alone = Grid(ligament, tmp_path / "alone")
    alone.path.mkdir()
    alone.begin(model(program, (1, 1, 1)))
    try:
        alone.tap("wave.w", "--level", 4.5, "--save", "w.vtp")
    finally:
        alone.end()
    grid.begin(model(program, (2, 2, 2)))
    told = json.loads(grid.tap("wave.w", "--level", 4.5, "--save", "w.vtp", "--json"))
    points, triangles, levels = pictures.mesh(tmp_path / "w.vtp")
    assert told["levels"][0]["triangles"] == len(triangles) > 300 and set(levels) == {4.5}
    assert told["levels"][0]["nan"] == 0 and told["blocks"] == 8
    assert abs(told["levels"][0]["area"] / (4 * numpy.pi * 4.5 ** 2) - 1) < 0.03
    assert pictures.open_edges(triangles) == 0
    middle = (numpy.array(SHAPE) - 1) / 2 + 0.03
    assert numpy.abs(numpy.linalg.norm(points - middle, axis=1) - 4.5).max() < 0.06
    one_points, one_triangles, _ = pictures.mesh(alone.path / "w.vtp")
    assert pictures.corners(points, triangles) == pictures.corners(one_points, one_triangles)
    # Two levels are in one file; a level beyond the data is reported.
    grid.tap("wave.w", "--level", 3, "--level", 4.5, "--save", "two.vtp")
    both, _, levels = pictures.mesh(tmp_path / "two.vtp")
    assert len(both) > len(points) and set(levels) == {3, 4.5}
    told = grid.tap("wave.w", "--level", -2, "--once")
    assert "the surface at -2 is empty: the values go from 0.665" in told, told
    assert not list(tmp_path.glob("*.new-*"))


def test_values_are_saved_for_vtk_block_by_block(grid, python_program, tmp_path):
    grid.begin(model(pictures.program(python_program, order="F"), (2, 1, 3), more="time_unit: h"))
    grid.tap("wave.w", "--save", "w.pvti")
    expected, seen = pictures.distance(SHAPE).astype("float32"), numpy.zeros(SHAPE, int)
    for block in range(6):
        extent, values = pictures.image(tmp_path / f"w_{block}.vti")
        place = tuple(slice(first, last + 1) for first, last in zip(extent[::2], extent[1::2]))
        assert values.dtype == numpy.float32 and numpy.array_equal(values, expected[place])
        seen[place] += 1
    assert seen.min() == 1 and seen.max() == 4
    head = (tmp_path / "w.pvti").read_text()
    assert 'WholeExtent="0 13 0 12 0 11"' in head and head.count("<Piece ") == 6 and "TimeValue" in head
    grid.tap("wave.w", "--save", "w.npy")
    assert numpy.array_equal(numpy.load(tmp_path / "w.npy"), expected)
    # A block has a port like any other, and its values can be saved; the test counts the files of the other
    # block.
    told = json.loads(grid.tap("wave[1][0][2].w", "--once", "--json"))
    assert told["value"]["array"]["shape"] == [7, 13, 4]
    viewer = grid.watch("wave.u", "--save", "u-{n}.npy", "--every", 0)
    until(lambda: (tmp_path / "u-2.npy").exists())
    viewer.send_signal(signal.SIGINT)
    viewer.communicate(timeout=LIMIT)


def until(holds):
    late = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < late
        time.sleep(0.02)


def test_what_cannot_be_shown_is_said(grid, python_program):
    body = "domain.interior(w)[0, 0, 0] = numpy.nan"
    grid.begin(model(pictures.program(python_program, body), (2, 1, 1)))
    for words, why in [
        (("wave.x", "--once"), "no port \"x\" on which it sends; there are: "),
        (("wave.u", "--once", "--slice", "0"), "name it: plate[0].u"),
        (("wave[0][0][0].u", "--level", "1"), "is no field of a whole grid"),
        (("wave.u", "--save", "u.vtp"), "say with --level"),
        (("wave.u", "--level", "1", "--save", "u.pvti"), "surfaces are saved as .vtp"),
        (("wave.u", "--level", "nan"), "give a finite number"),
        (("wave[0][0][0].u", "--save", "u.pvti"), "without the index of a block"),
        (("wave.u", "--once", "--share", "0%"), "no share of the run's time"),
    ]:
        told = " ".join(grid.tap(*words, status=2).split())
        assert why in told, told
    # Each block has one point that is NaN. This block counts two: its own, and that of the next block, which is
    # among its ghosts.
    told = json.loads(grid.tap("wave.w", "--level", 4.5, "--once", "--json"))
    assert told["levels"][0]["nan"] == 2
    told = " ".join(grid.tap("wave[0][0][0].ghosts_out", "--once", status=2).split())
    assert "let the code publish the field" in told


def test_fields_without_surfaces_say_why(grid, python_program):
    grid.begin(model(pictures.program(python_program), (2, 2), (12, 12)))
    assert "three axes, and the grid has 2" in grid.tap("wave.u", "--level", 1, "--once", status=1)


def test_each_instance_has_a_grid_of_its_own_if_the_blocks_are_ranks(grid, tmp_path, python_program):
    text = pictures.PROGRAM.replace("BODY", "time.sleep(0.001)").replace("ORDER", "C")
    text = text.replace("[...] = distance\n", "[...] = distance + 100 * instance.index[0]\n")
    two = model(python_program("wave", text), (2, 2), (8, 6), more=RANKS)
    grid.begin(two.replace("{implementation: wave}", "{implementation: wave, multiplicity: 2}"))
    for instance in range(2):
        grid.tap(f"wave[{instance}].w", "--save", f"w{instance}.npy")
        expected = (pictures.distance((8, 6)) + 100 * instance).astype("float32")
        assert numpy.array_equal(numpy.load(tmp_path / f"w{instance}.npy"), expected)
    told = json.loads(grid.tap("wave[1]:2.w", "--once", "--json"))
    assert told["value"]["array"]["shape"] == [4, 3]
    told = grid.tap("wave.w", "--once", status=2)
    assert "the run has wave[0], wave[1]" in " ".join(told.split()), told


def test_a_grid_of_one_point_along_an_axis_says_why_it_has_no_surface(grid, python_program):
    grid.begin(model(pictures.program(python_program), (2, 1, 1), (12, 1, 12)))
    told = grid.tap("wave.w", "--level", 3, "--once")
    assert "is empty: the values go from 0.66" in told and "only one point along an axis" in told, told
    told = grid.tap("wave.w", "--level", -3, "--once")
    assert "is empty" in told and "one point" not in told, told


@pytest.mark.parametrize(("levels", "why"), [([4.5], "ask for more room (ligament explain"),
                                             ([4.5, 5], "ask for more room, or for fewer levels")])
def test_a_surface_that_does_not_fit_is_said(grid, python_program, levels, why):
    grid.begin(model(pictures.program(python_program), (2, 1, 1)))
    words = [word for level in levels for word in ("--level", level)]
    told = " ".join(grid.tap("wave.w", *words, "--once", "--room", "100", status=1).split())
    assert why in told and "slice" not in told, told


def test_a_viewer_that_stands_still_stops_nobody_and_the_end_of_a_block_is_told(grid, python_program):
    grid.begin(model(pictures.program(python_program), (2, 2, 1)))
    still = grid.watch("wave.u", "--level", 4.5, "--json", "--every", 0, "--share", "100%")
    assert json.loads(still.stdout.readline())["levels"]
    still.send_signal(signal.SIGSTOP)
    try:
        before = grid.step()
        until(lambda: grid.step() > before + 20)
    finally:
        still.send_signal(signal.SIGCONT)
    other = grid.watch("wave.w", "--every", 0, "--share", "100%")
    assert "wave.w at" in other.stdout.readline()
    pid = next(one["pid"] for one in grid.instances() if one["name"] == "wave[1][0][0]")
    assert (Path("/proc") / str(pid)).exists()
    grid.end()
    for viewer in (still, other):
        told, _ = viewer.communicate(timeout=LIMIT)
        assert viewer.returncode == 0, told


@pytest.mark.parametrize(("more", "silent"), [("wait: auto", "wave[1][0][0]"), (RANKS, "wave:1")])
def test_the_blocks_that_stay_silent_are_named(grid, python_program, more, silent):
    text = pictures.PROGRAM.replace("BODY", "time.sleep(0.001)").replace("ORDER", "C")
    once = text.replace("domain.publish(u)", "if domain.block != 1 or step == 0: domain.publish(u)")
    grid.begin(model(python_program("wave", once), (4, 1, 1), more=more))
    grid.tap("wave.w", "--once")
    told = " ".join(grid.tap("wave.u", "--once", "--timeout", "2", status=1).split())
    assert f"1 of its 4 blocks have not answered: {silent}. A block answers when it publishes" in told, told


def test_blocks_that_have_published_no_field_are_named(grid, python_program):
    text = pictures.PROGRAM.replace("BODY", "time.sleep(0.001)").replace("ORDER", "C")
    some = text.replace("domain.publish(", "domain.block % 2 or domain.publish(")
    grid.begin(model(python_program("wave", some), (4, 1, 1), more=RANKS))
    grid.tap("wave:2.u", "--once")
    told = " ".join(grid.tap("wave.u", "--once", "--timeout", "0.5", status=1).split())
    assert "yet by 2 of the 4 blocks of wave: wave:1, wave:3; ask again" in told, told


def test_a_field_is_published_after_an_exchange_under_a_name_of_its_own(run, python_program):
    bodies = {
        'u = domain.field("u"); domain.publish(u)': "was in no exchange yet",
        'u = domain.field("u"); domain.begin(0.0, u); domain.publish(u)': "has begun and not ended",
        'u = domain.field("ghosts_out"); domain.exchange(0.0, u); domain.publish(u)': "has such a port",
        'u = domain.field("a b"); domain.exchange(0.0, u); domain.publish(u)': "cannot be published",
        "domain.publish(numpy.zeros(3))": "no field's of the domain",
    }
    text = ("import numpy\ninstance = Instance()\nwhile instance.reuse_instance():\n"
            "    domain = Domain(instance)\n")
    for number, (body, why) in enumerate(bodies.items()):
        program = python_program(f"p{number}", text + f"    {body}\n")
        done = run(model(program, (1, 1, 1), (4, 4, 4)))
        assert done.status != 0 and why in " ".join(done.text.split()), done.text


@pytest.mark.parametrize("language", ["c", "cpp", "rust"])
def test_every_language_publishes(grid, command, tmp_path, language):  # noqa: F811
    shape, edges = (30, 17), ("periodic", "mirrored")
    order = "F" if language != "rust" else "C"
    grid.begin(test_wave.model(command(language), tmp_path, shape, (2, 2), edges, steps=10**9, order=order))
    told = json.loads(grid.tap("wave.u", "--once", "--json"))
    array = told["value"]["array"]
    values = numpy.array(array["data"], float).reshape(array["shape"])
    assert values.shape == shape and array["unit"] == "m" and numpy.abs(values).max() <= 0.5
    assert told["timestamp"] == int(told["timestamp"])
