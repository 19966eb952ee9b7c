"""Conventions of NumPy or JAX, where they differ: settings for programs written for JAX.

All are NumPy's by default. Like other settings they hold in a `with` block, for the thread or task that enters it, or for the process, by
`fungrad.config.update`; a jitted function has a program of its own for each choice.

Design: docs/design/34-types-settings-conventions.md.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from fungrad.core.config import convention, setting
from fungrad.numpy.names import tell_missing

__all__ = ["enable_x64", "failures", "out_of_bounds", "promotion"]
__dir__ = __all__.copy
tell_missing(globals())


def promotion(rules: str = "jax") -> AbstractContextManager[None]:
    """Return a context in which dtypes are promoted by the rules of NumPy, or by those of JAX.

    By JAX's, a floating-point dtype stays what it is beside integers: int32 with float32 is float32, which is float64 in NumPy, and int64
    with bfloat16 is bfloat16. Functions of floating-point numbers make float32 of integers of up to 32 bits, and float64 of others.
    Python numbers are weak, and so is what is computed of them alone, or of them and integers, in traced functions: it gives way to the
    dtype that it meets. The rules hold for operators of traced arrays, and for the functions of `fungrad.numpy` on traced and plain
    arrays; operators of plain arrays are NumPy's own.

    Parameters
    ----------
    rules
        "numpy" or "jax".

    Raises
    ------
    ValueError
        If it is another name.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> n, x = np.arange(3, dtype=np.int32), np.ones(3, np.float32)
    >>> with promotion("jax"):
    ...     print(fnp.add(n, x).dtype, fnp.sin(n).dtype)
    float32 float32
    >>> print(fnp.add(n, x).dtype, fnp.sin(n).dtype)
    float64 float64
    """
    return convention("promotion", rules)


def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which there are numbers of 64 bits, as by default, or none.

    Without them, functions of fungrad make 32-bit results of Python numbers, of 64-bit arrays and without a dtype:
    float32, int32, uint32 or complex64, as in JAX. So are the arguments of transformed functions. A dtype of 64 bits
    that is asked for is taken for the one of 32. Integers that do not fit are taken modulo 2**32. Plain arrays that
    no function of fungrad's has made stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> with enable_x64(False):
    ...     print(fnp.zeros(3).dtype, fnp.arange(3).dtype, fg.grad(lambda x: x * x)(3.0).dtype)
    float32 int32 float32
    """
    return setting(enable_x64=bool(new_val))


def out_of_bounds(rules: str = "jax") -> AbstractContextManager[None]:
    """Return a context in which indices out of bounds are errors, as in NumPy, or are none, as in JAX.

    By JAX's rules, ``x[i]`` of a traced array, and ``at(x)[i].get()`` of any, read the nearest element. Updates by
    `at` out of bounds are dropped. `take` and `take_along_axis` give NaN, for integers the least, for unsigned ones
    the greatest. Negative indices count from the end first. The argument `mode` of these has the last word. Plain
    arrays that are indexed directly raise NumPy's error, as ever. What an array of indices read out of bounds has no
    derivative; what a single integer read has that of the element. (In forward mode JAX has it in both cases.)

    Parameters
    ----------
    rules
        "numpy" or "jax".

    Raises
    ------
    ValueError
        If it is another name.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> with out_of_bounds("jax"):
    ...     print(fg.jit(lambda x, i: x[i])(x, 7), fg.at(x)[7].set(0.0), fnp.take(x, np.array([0, 7])))
    3.0 [1. 2. 3.] [ 1. nan]
    """
    return convention("out_of_bounds", rules)


def failures(outcome: str = "nan") -> AbstractContextManager[None]:
    """Return a context for matrices without factors or solutions: NaN, or an error, as in NumPy.

    With "nan", `cholesky`, `inv`, `solve`, `eigh`, `svd` and all others that would raise `LinAlgError` for values
    return NaN instead, in a stack for the matrices concerned alone. Singular systems give the infinities and NaN of
    elimination that divides by zero, as in JAX. What does not depend on values, such as a matrix that is not square,
    is an error still.

    Parameters
    ----------
    outcome
        "raise" or "nan".

    Raises
    ------
    ValueError
        If it is another name.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> A = np.array([[[4.0]], [[-1.0]]])
    >>> with failures("nan"):
    ...     print(fg.jit(fnp.linalg.cholesky)(A).ravel())
    [ 2. nan]
    """
    return convention("failures", outcome)
