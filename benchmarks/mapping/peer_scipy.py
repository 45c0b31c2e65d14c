"""Nearest points by SciPy: `peer_scipy.py KNOWN ASKED`, two files of points with three doubles each. Prints one
line of JSON with times in s."""

import json
import sys
import time

import numpy as np
from scipy.spatial import cKDTree

known, asked = (np.fromfile(path).reshape(-1, 3) for path in sys.argv[1:])
# Points of a flat mesh lose their third coordinate, as a user of SciPy would write it.
if not known[:, 2].any():
    known, asked = (np.ascontiguousarray(points[:, :2]) for points in (known, asked))
values = np.ascontiguousarray(known[:, 0])
began = time.perf_counter()
tree = cKDTree(known)
built = time.perf_counter()
_, nearest = tree.query(asked, workers=1)
found = time.perf_counter()
values[nearest]
applied = time.perf_counter()
print(json.dumps({"tree": built - began, "search": found - built, "nearest": found - began,
                  "apply": applied - found}))
