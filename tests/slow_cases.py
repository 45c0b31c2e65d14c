"""Cases of a test that only `make test-all` runs."""

import pytest


def slow(*cases):
    """Marks cases of `pytest.mark.parametrize` as slow. A case with several values is a tuple."""
    values = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*one, marks=pytest.mark.slow) for one in values]
