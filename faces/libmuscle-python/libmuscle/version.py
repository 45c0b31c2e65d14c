"""The version of MUSCLE 3 whose calls this face has."""

__version__ = "0.11.0"
