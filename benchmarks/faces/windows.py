"""The windows of the part `implicit`, which its programs and its model have in common. The benchmark itself
runs in any Python, so this file needs no package."""

VALUES, WINDOWS, ITERATIONS, RELAXATION = 100_000, 40, 6, 0.5
