"""The error of the module."""


class Error(RuntimeError):
    """A call or a configuration that cannot be. The text says what, where, and what to do."""
