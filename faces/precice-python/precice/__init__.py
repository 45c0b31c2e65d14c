"""The names of preCICE 3 for Python, over Ligament: `Participant`, and the model of a configuration."""

from .errors import Error
from .participant import Participant


def get_version_information():
    """A text that says which library this is."""
    return b"3.0.0;ligament;face"


__all__ = ["Error", "Participant", "get_version_information"]
