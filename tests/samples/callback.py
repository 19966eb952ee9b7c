import numpy as np

from fungrad.core import tree
from fungrad.core.types import type_of
from fungrad.primitives.callback import Arguments, DebugCallback, IoCallback, PureCallback
from tests.samples.row import Sample, reals


def scaled(x, y):
    return (x.sum() * y).astype(float)


def ignore(x):
    return None


PAIR = Arguments(tree.structure(((0.0, 0.0), {})))
ONE = Arguments(tree.structure(((0.0,), {})))
RESULT = (type_of(np.zeros(3)),)
OPERANDS = (reals(2, 2), reals(3, seed=1))
GAPS = frozenset(["jvp"])


def pure(method):
    return PureCallback(scaled, PAIR, RESULT, tree.LEAF, method)


def row(primitive, name):
    return Sample(primitive, OPERANDS, lambda x, y: (x.sum() * y,), gaps=GAPS, name=name)


ROWS = [
    row(pure("sequential"), "sequential"),
    Sample(
        pure(None), OPERANDS, lambda x, y: (x.sum() * y,), gaps=GAPS | {"batch"}, name="unmapped"
    ),
    row(IoCallback(scaled, PAIR, RESULT, tree.LEAF), ""),
    Sample(DebugCallback(ignore, ONE), (reals(2),), lambda x: ()),
]
