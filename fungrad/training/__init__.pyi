# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from fungrad.training.bars import L as _L

def progress(loop: _L, *, every: int | None = ..., **options: _ArrayLike) -> _L: r"""Return a loop that shows a bar of its progress, by tqdm (``pip install 'fungrad[progress]'``)."""
from fungrad.training.batches import Minibatches as Minibatches, minibatches as minibatches
from fungrad.training.checkpoint import load as load, save as save
from fungrad.training.errors import CheckpointError as CheckpointError
