"""`jax.typing`."""

from typing import Any, TypeAlias

import numpy as np

from fungrad.compat.jax.array import Array

ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike: TypeAlias = Any
