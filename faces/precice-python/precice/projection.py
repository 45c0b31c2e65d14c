"""Nearest projection: each point gets its value from the nearest place on the triangles, edges and vertices of
the other mesh, by shares of the corners (Ericson, Real-Time Collision Detection, 2005, section 5.1)."""

from dataclasses import dataclass, field

import numpy as np

# Number of pairs of a point and a cell that are held at once.
CHUNK = 200_000


@dataclass
class Cells:
    """Corners of the edges (k, 2) and triangles (m, 3) of a mesh, as numbers of its points."""

    edges: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))

    def add_edges(self, corners):
        self.edges = np.concatenate([self.edges, corners])

    def add_triangles(self, corners):
        self.triangles = np.concatenate([self.triangles, corners])

    def add_quads(self, corners, points):
        """Adds two triangles for each quad, which share its shorter diagonal."""
        a, b, c, d = (points[corners[:, i]] for i in range(4))
        is_first = np.linalg.norm(a - c, axis=1) <= np.linalg.norm(b - d, axis=1)
        turned = np.where(is_first[:, None], corners, np.roll(corners, -1, axis=1))
        self.add_triangles(np.concatenate([turned[:, [0, 1, 2]], turned[:, [0, 2, 3]]]))

    def all_edges(self):
        """The edges, and those of the triangles."""
        sides = [self.triangles[:, [i, (i + 1) % 3]] for i in range(3)]
        return np.unique(np.sort(np.concatenate([self.edges, *sides]), axis=1), axis=0)

    def is_empty(self):
        return not (len(self.edges) or len(self.triangles))


def _on_edges(points, corners, asked):
    """Shares (n, k, 2) of the corners of each edge, for the place on it that is nearest to each point."""
    begin, along = points[corners[:, 0]], points[corners[:, 1]] - points[corners[:, 0]]
    square = np.einsum("kd,kd->k", along, along)
    ahead = np.einsum("nkd,kd->nk", asked[:, None] - begin[None], along)
    share = np.clip(ahead / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    return np.stack([1.0 - share, share], axis=-1)


def _in_triangles(points, corners, asked):
    """Shares (n, m, 3) of the corners of each triangle for each point's projection on its plane; NaN if the
    projection is not within the triangle, whose edges then have the nearest place."""
    a = points[corners[:, 0]]
    u, v = points[corners[:, 1]] - a, points[corners[:, 2]] - a
    uu, uv, vv = (np.einsum("md,md->m", *pair) for pair in ((u, u), (u, v), (v, v)))
    away = asked[:, None] - a[None]
    along_u, along_v = np.einsum("nmd,md->nm", away, u), np.einsum("nmd,md->nm", away, v)
    area = uu * vv - uv**2
    area = np.where(area > 1e-14 * uu * vv, area, np.nan)
    second, third = (vv * along_u - uv * along_v) / area, (uu * along_v - uv * along_u) / area
    shares = np.stack([1.0 - second - third, second, third], axis=-1)
    return np.where((shares >= 0.0).all(axis=-1, keepdims=True), shares, np.nan)


def projected(points, cells, asked):
    """For each asked point three points of the mesh and their shares, as arrays (n, 3). `points` (m, d) belong
    to `cells`."""
    vertices = np.arange(len(points))[:, None]
    kinds = [(vertices, lambda *of: np.ones((len(of[2]), len(points), 1))), (cells.all_edges(), _on_edges),
             (cells.triangles, _in_triangles)]
    least = np.full(len(asked), np.inf)
    found, shares = np.zeros((len(asked), 3), dtype=np.intp), np.zeros((len(asked), 3))
    for corners, shares_of in kinds:
        if not len(corners):
            continue
        step = max(1, CHUNK // len(corners))
        for begin in range(0, len(asked), step):
            part = asked[begin:begin + step]
            own = shares_of(points, corners, part)
            places = np.einsum("nkc,kcd->nkd", own, points[corners])
            square = np.einsum("nkd,nkd->nk", places - part[:, None], places - part[:, None])
            square = np.where(np.isnan(square), np.inf, square)
            best = square.argmin(axis=1)
            rows = np.arange(len(part))
            # A cell of more corners has the same place as one of its sides, or a nearer one.
            is_nearer = square[rows, best] < least[begin:begin + step]
            at, width = begin + rows[is_nearer], corners.shape[1]
            least[at] = square[rows, best][is_nearer]
            found[at], shares[at] = 0, 0.0
            found[at, :width] = corners[best[is_nearer]]
            shares[at, :width] = own[rows, best][is_nearer]
    return found, shares
