"""The records of a run."""
