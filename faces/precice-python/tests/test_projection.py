"""Nearest projection: on edges and triangles in two and three dimensions, alone and in a run."""

import sys
from pathlib import Path

import numpy as np
import pytest
from heat_alone import monolithic
from precice import Error
from precice.configuration import Mapping, read
from precice.mapping import Weights
from precice.plan import plan
from precice.projection import Cells, projected

HERE = Path(__file__).resolve().parent
HEAT = (HERE / "heat.xml").read_text()


def weights(source, target, cells, constraint="consistent"):
    return Weights(Mapping("read", "Here", "There", constraint, None, True), source, target, cells)


def surface(count=5):
    """A wavy surface of triangles."""
    i, j = (index.ravel() for index in np.mgrid[:count, :count])
    points = np.column_stack([i, j, 0.3 * np.sin(i) * np.cos(j)]) / (count - 1.0)
    corner = np.array([a * count + b for a in range(count - 1) for b in range(count - 1)])
    cells = Cells()
    cells.add_quads(np.column_stack([corner, corner + 1, corner + count + 1, corner + count]), points)
    return points, cells


def plane(points):
    return 2.0 + points @ np.array([3.0, -5.0, 0.5])[:points.shape[1]]


def test_no_place_on_the_cells_is_nearer():
    points, cells = surface()
    dice = np.random.default_rng(3)
    asked = dice.random((60, 3)) * 1.6 - 0.3
    found, shares = projected(points, cells, asked)
    assert (shares >= 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    places = np.einsum("nc,ncd->nd", shares, points[found])
    # Many places at random on all triangles.
    parts = dice.dirichlet(np.ones(3), (len(cells.triangles), 400))
    others = np.einsum("mkc,mcd->mkd", parts, points[cells.triangles]).reshape(-1, 3)
    nearest = np.linalg.norm(asked[:, None] - others[None], axis=-1).min(axis=1)
    own = np.linalg.norm(asked - places, axis=1)
    assert (own <= nearest + 1e-12).all() and (own >= nearest - 0.1).all()


def test_linear_functions_and_sums_stay_the_same():
    points, cells = surface()
    found, shares = projected(points, cells, np.random.default_rng(4).random((40, 3)))
    on_surface = np.einsum("nc,ncd->nd", shares, points[found])
    values = np.column_stack([plane(points), np.full(len(points), 7.0)])
    made = weights(points, on_surface, cells).apply(values)
    np.testing.assert_allclose(made, np.column_stack([plane(on_surface), np.full(40, 7.0)]), atol=1e-12)
    forces = np.random.default_rng(5).random((40, 2))
    back = weights(on_surface, points, cells, "conservative")
    np.testing.assert_allclose(back.apply(forces).sum(axis=0), forces.sum(axis=0))
    np.testing.assert_allclose(np.sum(made * forces), np.sum(values * back.apply(forces)))


def test_edges_in_two_dimensions_and_cells_without_extent():
    line = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.0, 0.0]])
    cells = Cells(np.array([[0, 1], [1, 2], [2, 3]]), np.array([[1, 2, 3]]))
    asked = np.array([[0.25, 1.0], [2.0, -1.0], [5.0, 0.0], [-1.0, 0.0]])
    made = weights(line, asked, cells).apply(np.array([[0.0], [10.0], [20.0], [20.0]]))
    np.testing.assert_allclose(made[:, 0], [2.5, 15.0, 20.0, 0.0])
    alone = weights(line[:3], asked, Cells()).apply(np.array([[0.0], [10.0], [20.0]]))
    np.testing.assert_allclose(alone[:, 0], [0.0, 10.0, 20.0, 0.0])


def test_a_quad_is_divided_by_its_shorter_diagonal():
    points = np.array([[0.0, 0.0], [1.0, 0.2], [4.0, 0.0], [1.0, -0.2]])
    cells = Cells()
    cells.add_quads(np.array([[0, 1, 2, 3]]), points)
    assert sorted(map(sorted, cells.triangles.tolist())) == [[0, 1, 3], [1, 2, 3]]


PROJECTING = HEAT.replace("nearest-neighbor", "nearest-projection")


def bars(tmp_path, edges):
    """The two halves of a bar. The heat flux differs along the interface, so only a projection is exact."""
    code = (HERE / "bar.py").read_text()
    asks = "if participant.requires_initial_data():"
    code = code.replace(asks, edges + asks)
    # The flux has a part that is linear along the interface and without a sum on three points.
    code = code.replace("vertices, np.full(len(vertices), flux))", "vertices, flux + heights - 0.5)")
    code = code.replace('"Heat-Flux", vertices, dt).mean()', '"Heat-Flux", vertices, dt)[0] + 0.5 - heights[0]')
    code = code.replace("np.linspace(0.0, 1.0, 3 if is_left else 2)",
                        "np.array([0.0, 0.5, 1.0] if is_left else [0.2, 0.7])")
    file = tmp_path / "projecting.py"
    file.write_text(code)
    return {name: f"{sys.executable} {file} {name}" for name in ("Dirichlet", "Neumann")}


EDGES = """assert participant.requires_mesh_connectivity_for(mesh)
participant.set_mesh_edges(mesh, [[i, i + 1] for i in range(len(vertices) - 1)])
"""


def test_values_are_projected_in_a_run(coupled, tmp_path):
    ran = coupled(PROJECTING, **bars(tmp_path, EDGES))
    assert ran.status == 0, ran.text
    parts = [np.load(next((ran.directory / "instances" / name).rglob("temperatures.npy")))
             for name in ("Dirichlet", "Neumann")]
    np.testing.assert_allclose(np.concatenate(parts), monolithic(10), atol=1e-6)


def test_a_mesh_without_cells_is_warned_of(coupled, tmp_path):
    ran = coupled(PROJECTING, **bars(tmp_path, ""))
    said = " ".join(ran.text.split())
    assert 'the mesh "Dirichlet-Mesh" has no edges and no triangles' in said, ran.text


@pytest.mark.parametrize("call, text", [
    ("set_mesh_edge(mesh, 0, 9)", "one of the ids is beyond them"),
    ("set_mesh_triangles(mesh, [0, 1])", "each cell has 3"),
    ("set_mesh_quads(mesh, [[0, 1], [1, 0]])", "each cell has 4"),
    ("set_mesh_tetrahedron(mesh, 0, 1, 0, 9)", "one of the ids is beyond them"),
    ("set_mesh_edges('Neumann-Mesh', [0, 1])", 'does not provide the mesh "Neumann-Mesh"'),
])
def test_cells_that_cannot_be_are_refused(coupled, tmp_path, call, text):
    programs = bars(tmp_path, f"if is_left: participant.{call}\n")
    ran = coupled(PROJECTING, **programs)
    assert ran.status != 0 and text in " ".join(ran.text.split()), ran.text


def test_the_plan_names_projections_and_the_meshes_whose_cells_they_need(tmp_path):
    file = tmp_path / "config.xml"
    text = HEAT.replace("nearest-neighbor", "nearest-projection", 1)
    file.write_text(text.replace('"consistent"', '"conservative"', 1))
    lines = plan(read(file)).splitlines()
    assert "mesh\tDirichlet-Mesh\t2\tDirichlet_Mesh\tcells" in lines
    assert "mesh\tNeumann-Mesh\t2\tNeumann_Mesh\t" in lines
    assert any(line.endswith("conservative\tnearest-projection\t0.0\t0.0\t") for line in lines), lines
    with pytest.raises(Error, match="nearest-projector"):
        file.write_text(HEAT.replace("nearest-neighbor", "nearest-projector"))
        read(file)
