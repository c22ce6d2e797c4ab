"""Array types, each named once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Bytes", "Float32s", "Floats", "Indices", "Int8s", "Int32s", "Ints", "Uint32s", "Uint64s"]

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Float32s = NDArray[np.float32]
Indices = NDArray[np.intp]
Ints = NDArray[np.int64]
Int8s = NDArray[np.int8]
Int32s = NDArray[np.int32]
Uint32s = NDArray[np.uint32]
Uint64s = NDArray[np.uint64]
