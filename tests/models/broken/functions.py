"""For functions.ymmsl."""


def rainfall():
    yield 0.0, 1.0
