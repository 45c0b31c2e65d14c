"""Radial basis functions: properties, and the same values as `ligament.mappers.mesh` gives."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from precice import Error
from precice.configuration import Mapping, read
from precice.mapping import Weights
from precice.plan import plan
from precice.radial import COMPACT, FUNCTIONS, PLAIN, SHAPED, Basis

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
HEAT = (HERE / "heat.xml").read_text()
RADIUS, SHAPE = 0.9, {"gaussian": 8.0, "multiquadrics": 0.05, "inverse-multiquadrics": 0.2}
BASES = [*((name, RADIUS, None) for name in COMPACT), *((name, None, SHAPE[name]) for name in SHAPED),
         *((name, None, None) for name in PLAIN)]


def weights(source, target, basis, constraint="consistent"):
    return Weights(Mapping("read", "Here", "There", constraint, basis), source, target)


def scattered(dice, shape):
    """Points at random, but not close to each other: they move within the cells of a lattice."""
    count, axes = shape
    cells = int(np.ceil(count ** (1 / axes)))
    lattice = np.stack(np.meshgrid(*[np.arange(cells)] * axes), axis=-1).reshape(-1, axes)[:count]
    return (lattice + 0.4 * dice.random(shape)) / cells


def plane(points):
    return 2.0 + points @ np.array([3.0, -5.0, 0.5])[:points.shape[1]]


@pytest.mark.parametrize("basis", BASES, ids=lambda one: f"{one[0]}-{one[1] or one[2]}")
@pytest.mark.parametrize("polynomial", ["separate", "on", "off"])
def test_linear_functions_and_sums_stay_the_same(basis, polynomial):
    dice = np.random.default_rng(7)
    for axes, sources, targets in ((1, 8, 6), (2, 30, 20), (3, 30, 20)):
        here, there = scattered(dice, (sources, axes)), scattered(dice, (targets, axes))
        made = weights(here, there, Basis(*basis, polynomial))
        back = weights(there, here, Basis(*basis, polynomial), "conservative")
        values, forces = dice.random((sources, 2)), dice.random((targets, 2))
        # The transpose does the same work.
        np.testing.assert_allclose(np.sum(made.apply(values) * forces), np.sum(values * back.apply(forces)))
        same = weights(here, here, Basis(*basis, polynomial)).apply(values)
        np.testing.assert_allclose(same, values, atol=1e-8)
        if polynomial == "off":
            continue
        found = made.apply(np.column_stack([plane(here), np.full(sources, 7.0)]))
        np.testing.assert_allclose(found, np.column_stack([plane(there), np.full(targets, 7.0)]), atol=1e-8)
        np.testing.assert_allclose(back.apply(forces).sum(axis=0), forces.sum(axis=0), atol=1e-9)


def test_one_point_and_points_in_a_line_or_a_plane():
    there = np.random.default_rng(8).random((4, 3))
    line, one = np.outer(np.arange(5.0), [1.0, 2.0, 0.0]), np.array([[0.2, 0.1, 0.0]])
    for name, radius, shape in BASES:
        for polynomial in ("separate", "on"):
            basis = Basis(name, radius and 9.0, shape, polynomial)
            assert weights(one, there, basis).apply(np.array([[4.0]])).tolist() == [[4.0]] * 4
            assert weights(there, one, basis, "conservative").apply(np.ones((4, 1))).tolist() == [[4.0]]
    basis = Basis("compact-polynomial-c6", 9.0, None, "separate")
    found = weights(line, line[:4] + 0.5 * line[1], basis).apply(plane(line)[:, None])
    np.testing.assert_allclose(found[:, 0], plane(line[:4] + 0.5 * line[1]), atol=1e-9)


def test_meshes_that_cannot_be_mapped_are_named():
    dice = np.random.default_rng(9)
    here, there = scattered(dice, (20, 2)), scattered(dice, (5, 2))
    basis = Basis("compact-polynomial-c2", RADIUS, None, "separate")
    twice = here.copy()
    twice[17] = twice[4]
    with pytest.raises(Error, match='vertices 4 and 17 of the mesh "Here" are both at'):
        weights(twice, there, basis)
    with pytest.raises(Error, match=r'5 of 5 vertices of the mesh "There".*no vertex of "Here" within.*0\.9'):
        weights(here, there + 10.0, basis)
    with pytest.raises(Error, match='5 of 5 vertices of the mesh "Here".*no vertex of "There"'):
        weights(there + 10.0, here[:5], basis, "conservative")
    far = np.concatenate([there, there + 10.0])
    found = weights(here, far, basis).apply(plane(here)[:, None])
    np.testing.assert_allclose(found[:, 0], plane(far), atol=1e-9)
    with pytest.raises(Error, match="5 of 10 vertices"):
        weights(here, far, Basis("compact-polynomial-c2", RADIUS, None, "off"))
    with pytest.raises(Error, match="20 unknowns.*is singular"):
        weights(here, there, Basis("gaussian", None, 1e-4, "off"))
    with pytest.raises(Error, match="4097 points"):
        weights(dice.random((4097, 2)), there, basis)
    with pytest.raises(Error, match='the mesh "Here" is empty'):
        weights(here[:0], there, basis)


def test_the_mapper_of_ligament_gives_the_same_values(tmp_path):
    dice = np.random.default_rng(10)
    here, there, values = scattered(dice, (40, 3)), scattered(dice, (25, 3)), dice.random((40, 2))
    np.save(tmp_path / "here.npy", here)
    np.save(tmp_path / "there.npy", there)
    (tmp_path / "values.jsonl").write_text(json.dumps({"timestamp": 0.0, "data": {"array": {
        "dtype": "float64", "shape": [40, 2], "data": values.ravel().tolist()}}}) + "\n")
    components, conduits, settings, expected = [], [], ["  source.file: values.jsonl"], {}
    for index, (name, radius, shape) in enumerate(BASES):
        for polynomial, constraint in (("separate", "consistent"), ("on", "consistent"), ("off", "consistent"),
                                       ("separate", "conservative"), ("on", "conservative")):
            mapper = f"{polynomial}{constraint}{index}"
            own = {"from": "here.npy", "to": "there.npy", "method": "radial", "function": name,
                   "polynomial": polynomial, "constraint": constraint}
            own |= {"support_radius": radius} if radius else {"shape_parameter": shape} if shape else {}
            components += [f"      {mapper}: {{implementation: ligament.mappers.mesh}}",
                           f"      {mapper}sink: {{implementation: ligament.sinks.npy}}"]
            conduits.append((mapper, f"      {mapper}.out: {mapper}sink.in"))
            settings += [f"  {mapper}.{key}: {json.dumps(value)}" for key, value in own.items()]
            settings.append(f"  {mapper}sink.file: {tmp_path / mapper}.npy")
            basis = Basis(name, radius, shape, polynomial)
            expected[mapper] = weights(here, there, basis, constraint).apply(values)
    lines = ["ymmsl_version: v0.2", "models:", "  maps:", "    components:",
             "      source: {implementation: ligament.sources.jsonl}", *components, "    conduits:",
             "      source.out:", *(f"      - {mapper}.in" for mapper, _ in conduits),
             *(line for _, line in conduits), "settings:", *settings]
    (tmp_path / "maps.ymmsl").write_text("\n".join(lines) + "\n")
    ligament = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
    done = subprocess.run([ligament, "run", "maps.ymmsl", "--run-dir", "run", "--overcommit"], cwd=tmp_path,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    for mapper, value in expected.items():
        found = np.load(tmp_path / f"{mapper}.npy").reshape(value.shape)
        np.testing.assert_allclose(found, value, atol=1e-8 * max(1.0, np.abs(value).max()), err_msg=mapper)


RBF = ('<mapping:rbf direction="read" from="Neumann-Mesh" to="Dirichlet-Mesh" constraint="consistent"{}>{}'
       "</mapping:rbf>")
NEAREST = ('<mapping:nearest-neighbor direction="read" from="Neumann-Mesh" to="Dirichlet-Mesh" '
           'constraint="consistent"/>')
LINE = HEAT[:HEAT.index(NEAREST)].count("\n") + 1
C6 = '<basis-function:compact-polynomial-c6 support-radius="2.0"/>'


def configured(tmp_path, attributes, function, text=RBF):
    file = tmp_path / "config.xml"
    file.write_text(HEAT.replace(NEAREST, text.format(attributes, function)))
    return read(file)


def test_each_kind_of_radial_mapping_and_each_function_is_read(tmp_path):
    for kind in ("rbf", "rbf-global-direct", "rbf-global-iterative", "rbf-pum-direct"):
        found = configured(tmp_path, ' polynomial="on"', C6, RBF.replace("mapping:rbf", f"mapping:{kind}"))
        (mapping,) = found.roles["Dirichlet"].mappings
        assert mapping.basis == Basis("compact-polynomial-c6", 2.0, None, "on") and not found.warnings
    for name, radius, shape in BASES:
        lengths = f'support-radius="{radius}"' if radius else f'shape-parameter="{shape}"' if shape else ""
        found = configured(tmp_path, "", f"<basis-function:{name} {lengths}/>")
        assert found.roles["Dirichlet"].mappings[0].basis == Basis(name, radius, shape, "separate")
        words = ["map", "Dirichlet", "read", "Neumann-Mesh", "Dirichlet-Mesh", "consistent", name,
                 str(radius or 0.0), str(shape or 0.0), "separate"]
        assert "\t".join(words) in plan(found).splitlines()
    assert set(FUNCTIONS) == {name for name, _, _ in BASES}


@pytest.mark.parametrize("attributes, function, text", [
    ("", "", "<mapping:rbf> needs a basis function"),
    ("", C6 + C6, "one is wanted"),
    ("", "<basis-function:compact-polynomial-c6/>", "support-radius is wanted"),
    ("", '<basis-function:gaussian support-radius="1" shape-parameter="2"/>', "support-radius or shape"),
    ("", '<basis-function:thin-plate-splines support-radius="1"/>', "none is wanted"),
    ("", '<basis-function:gaussian support-radius="-1"/>', '<basis-function:gaussian> is "-1"'),
    ("", "<basis-function:wavelet/>", "<basis-function:wavelet>"),
    (' polynomial="maybe"', C6, '"polynomial" is "maybe"'),
    (' x-dead="true"', C6, '"x-dead" of <mapping:rbf>'),
])
def test_mistakes_in_a_radial_mapping_are_named_with_their_line(tmp_path, attributes, function, text):
    with pytest.raises(Error) as error:
        configured(tmp_path, attributes, function)
    said = str(error.value).splitlines()
    assert any(f"config.xml:{LINE}:" in line and text in line for line in said), said


def test_a_conservative_mapping_without_a_polynomial_is_warned_of(tmp_path):
    text = RBF.replace("consistent", "conservative")
    (warning,) = configured(tmp_path, ' polynomial="off"', C6, text).warnings
    assert f"config.xml:{LINE}:" in warning and "does not keep the sum" in warning
