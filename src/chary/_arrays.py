"""Names of the array types that annotations use, and their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Numbers, such as probabilities (n, C).
Floats = NDArray[np.floating[Any]]
#: Codes of classes, or numbers of rows and columns.
Ints = NDArray[np.intp]
#: Whether something holds, by row.
Mask = NDArray[np.bool_]
