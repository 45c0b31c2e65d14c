"""The crate `ligament-surface` in Python, by the shared library of its example, and fields with known surfaces.
All fields are arrays of doubles with the axes z, y, x. The benchmark and `tests/surface` use this file."""

import ctypes

import numpy as np


class Library:
    """Surfaces of fields: their bytes, and the triangles that a viewer makes of them."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.surface_encode.restype = ctypes.c_size_t
        self.library.surface_encode.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double]
        for name in ("surface_decode", "surface_measures"):
            getattr(self.library, name).argtypes = [ctypes.c_void_p]
        self.library.surface_lanes.argtypes = [ctypes.c_size_t]
        self.library.surface_lanes.restype = ctypes.c_size_t
        self.counts = np.zeros(2, np.uint64)

    def lanes(self, number):
        """Takes other vectors of the processor, 0 for none, and returns how many kinds there are."""
        return self.library.surface_lanes(number)

    def encode(self, field, level):
        """Makes the surface of a field and returns the number of its bytes."""
        assert field.flags.c_contiguous and field.dtype == np.float64
        points = np.array(field.shape[::-1], np.uint64)
        size = self.library.surface_encode(field.ctypes.data, points.ctypes.data, level)
        assert size, "the field has no surface"
        return size

    def decode(self):
        """Makes triangles of the last surface."""
        self.library.surface_decode(self.counts.ctypes.data)

    def measures(self):
        """Returns the points, triangles, area, volume and Euler number of the last triangles."""
        measures = np.zeros(3)
        self.library.surface_measures(measures.ctypes.data)
        points, triangles = (int(count) for count in self.counts)
        return {"points": points, "triangles": triangles, "area": measures[0], "volume": measures[1],
                "euler": int(measures[2])}


def sphere(n, radius):
    """A field that is the distance from the centre, negated, and the level of a sphere."""
    z, y, x = np.ogrid[:n, :n, :n]
    centre = (n - 1) / 2
    return -np.sqrt((z - centre) ** 2 + (y - centre) ** 2 + (x - centre) ** 2), -radius


def gyroid(n, periods):
    z, y, x = (2 * np.pi * periods * axis / n for axis in np.ogrid[:n, :n, :n])
    return np.sin(x) * np.cos(y) + np.sin(y) * np.cos(z) + np.sin(z) * np.cos(x), 0.1


def noise(n):
    return np.random.default_rng(1).random((n, n, n)), 0.5
