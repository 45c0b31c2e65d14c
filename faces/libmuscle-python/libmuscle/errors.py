"""The exceptions of this module beside those of Python. All others are RuntimeError, KeyError, TypeError or
ValueError, as in MUSCLE 3."""

from ligament import UsageError


class ConfigurationError(Exception):
    """The model or its settings have a mistake."""


class PortNameError(UsageError, KeyError):
    """The instance has no port of this name. MUSCLE 3 raises a KeyError where it asks about a port."""
