"""Which cases with the second MPI are left to the suite "second mpi"."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of the ranks that go astray or are killed, MPICH plays the first case of each test of a program in C.
    Open MPI plays all cases in all languages."""
    seen = set()
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if item.path.stem not in ("test_astray", "test_kills") or params.get("mpi") != "mpich":
            continue
        test = (item.path.stem, item.originalname)
        if test in seen or {"in_cpp", "python"} & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)
        seen.add(test)
