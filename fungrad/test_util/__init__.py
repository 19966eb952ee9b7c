"""Checks for tests of functions and their transforms.

`check_grads` (JAX's, with `check_jvp` and `check_vjp`) holds derivatives against differences, `check_vmap` holds `vmap` against a loop,
`check_jit` `jit` against the function, `check_all` everything against everything, `check_agreement` two functions
against one another. `assert_allclose` compares trees, `assert_equal_exprs` programs; `assert_trace_count` and
`assert_no_retrace` watch what `jit` traces. docs/testing.md has them at work, and the fixtures and markers of the
plugin for pytest.
"""

from fungrad.extend.packages import tell_missing
from fungrad.test_util.compare import assert_allclose
from fungrad.test_util.everything import check_agreement, check_all
from fungrad.test_util.exprs import assert_equal_exprs
from fungrad.test_util.gradients import check_grads, check_jvp, check_vjp
from fungrad.test_util.tracing import assert_no_retrace, assert_trace_count
from fungrad.test_util.transforms import check_jit, check_vmap

__all__ = [
    "assert_allclose",
    "assert_equal_exprs",
    "assert_no_retrace",
    "assert_trace_count",
    "check_agreement",
    "check_all",
    "check_grads",
    "check_jit",
    "check_jvp",
    "check_vjp",
    "check_vmap",
]
__dir__ = __all__.copy
tell_missing(globals())
