"""The array with names of its axes, as messages hold it."""

import numpy as np


class Grid:
    """An array to be sent, or that was received, with names of its axes.

    Attributes:
        array: A NumPy array of any shape. A received one is read-only, and a view of the sender's memory.
        indexes: One name for each dimension of the array, or None.
    """

    def __init__(self, array: np.ndarray, indexes: list[str] | None = None) -> None:
        """Makes a grid.

        Args:
            array: The numbers, of any shape and any type that Ligament sends.
            indexes: One name for each dimension.

        Raises:
            ValueError: The number of names is not that of the dimensions.
        """
        if indexes is not None and len(indexes) != array.ndim:
            raise ValueError(
                f"a grid has one index name for each dimension: the array has {array.ndim}, and the names are"
                f" {indexes}"
            )
        self.array = array
        self.indexes = indexes
