"""docs/coming_from.md: the lines of autograd give what ours give."""

import autograd
import autograd.numpy
import numpy as np
from autograd.tracer import getval

from tests.introductions.test_coming_from import PAGE, TABLE, code_of, rows_of


def test_lines_of_autograd_give_what_the_page_says():
    page = PAGE.read_text("utf-8")
    (table,) = [t for t in TABLE.finditer(page) if t["head"].startswith(" | autograd")]
    names = {name: getattr(autograd, name) for name in dir(autograd)} | {"getval": getval}
    names |= {"np": autograd.numpy, "fnp": autograd.numpy}
    exec(page[: table.start()].rpartition("```python\n")[2].partition("```")[0], names)
    compared = 0
    for _, theirs, _, gives in rows_of(table):
        line, expected = code_of(theirs), code_of(gives)
        if expected:
            found = eval(line, names)
            np.testing.assert_allclose(
                found, eval(expected, {"array": np.array, "np": np}), atol=1e-4
            )
            compared += 1
        else:
            exec(line, names)
    assert compared > 8
