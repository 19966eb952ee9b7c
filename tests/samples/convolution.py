"""Rows for primitives/convolution.py."""

import numpy as np

from fungrad.primitives.convolution import AXES, Convolution, fitting
from tests.samples.row import Sample, booleans, complexes, integers, reals


def form(gives, stride, dilation, lengths):
    """The sum over all indices, one term of the places and the patch after the other."""

    def oracle(a, b):
        x, w, y = (dict(zip([n for n in AXES if n != gives], (a, b))).get(n) for n in AXES)
        shapes = {n: z.shape for n, z in (("x", x), ("w", w), ("y", y)) if z is not None}
        leading = {axis: n for name, s in shapes.items() for axis, n in zip(AXES[name], s)}
        out = np.zeros([*[leading[axis] for axis in AXES[gives]], *lengths], a.dtype)
        x, w, y = (out if z is None else z for z in (x, w, y))
        for i in np.ndindex(*y.shape[3:]):
            for k in np.ndindex(*w.shape[3:]):
                at = tuple(p * s + q * r for p, s, q, r in zip(i, stride, k, dilation))
                terms = {"x": x[(..., *at)], "w": w[(..., *k)], "y": y[(..., *i)]}
                one, two = (n for n in AXES if n != gives)
                # The same letters as in the form, so einsum needs no thought.
                spec = f"{AXES[one]},{AXES[two]}->{AXES[gives]}"
                terms[gives] += np.einsum(spec, terms[one], terms[two]).astype(a.dtype)
        return out

    return oracle


def channels_last(z):
    """The same array, with the axis of channels last in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(z, 2, -1)), -1, 2)


def sample(gives, make, g, n, c, o, x, w, stride, dilation, arranged=np.asarray, name=""):
    y = tuple(map(fitting, x, w, stride, dilation))
    shapes = {"x": (g, n, c, *x), "w": (g, o, c, *w), "y": (g, n, o, *y)}
    operands = tuple(
        arranged(make(*shapes[name], seed=2 * i)) for i, name in enumerate(AXES) if name != gives
    )
    lengths = shapes[gives][3:]
    name = f"{name}{gives} {operands[0].dtype} x {list(shapes['x'])} w {list(shapes['w'])}"
    return Sample(
        Convolution(gives, stride, dilation, lengths),
        operands,
        form(gives, stride, dilation, lengths),
        name=f"{name} by {list(stride)} dilated {list(dilation)}",
    )


def ints(*shape, seed=0):
    return integers(*shape, seed=seed)


CASES = [  # dtype, groups, batch, channels of x and y, lengths of x and w, stride, dilation
    (reals, 1, 2, 3, 2, (5,), (3,), (1,), (1,)),
    (reals, 2, 1, 2, 3, (6, 4), (2, 2), (2, 1), (1, 3)),
    (reals, 3, 2, 1, 1, (5, 4), (2, 3), (2, 1), (2, 1)),
    (reals, 2, 1, 1, 2, (4,), (2,), (1,), (1,)),
    (reals, 1, 2, 2, 2, (3, 2, 4), (2, 1, 2), (1, 1, 2), (1, 1, 1)),
    (reals, 2, 2, 3, 2, (), (), (), ()),
    (complexes, 1, 1, 2, 2, (4,), (2,), (2,), (1,)),
]
ROWS = [
    *[sample(gives, *case) for gives in AXES for case in CASES[:5]],
    *[
        sample(gives, *case, arranged=channels_last, name="channels last ")
        for gives, case in [*[(gives, CASES[1]) for gives in AXES], ("y", CASES[2])]
    ],
    *[
        sample("y", *case)
        for case in [
            *CASES[5:],
            (ints, 1, 2, 2, 2, (5,), (2,), (1,), (2,)),
            (booleans, 1, 2, 2, 1, (4,), (2,), (1,), (1,)),
            (reals, 1, 1, 2, 2, (2,), (3,), (1,), (1,)),  # no place fits
            (reals, 1, 0, 2, 2, (4,), (2,), (1,), (1,)),
            (reals, 1, 2, 0, 2, (4,), (2,), (1,), (1,)),
        ]
    ],
    sample("x", reals, 1, 1, 2, 2, (2,), (3,), (1,), (1,)),
    sample("w", reals, 1, 0, 2, 2, (4,), (2,), (1,), (1,)),
]
