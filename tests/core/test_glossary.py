"""What docstrings leave out because it is the same everywhere is added from `COMMON`."""

import inspect

import fungrad as fg
from fungrad import callback, lax
from fungrad.core.glossary import COMMON
from fungrad.experimental import checkify
from tests.folding import each

FUNCTIONS = [
    fg.checkpoint,
    fg.custom_gradient,
    fg.custom_jvp,
    fg.custom_vjp.defvjp,
    fg.debug_infs,
    fg.print_saved_residuals,
    callback.io_callback,
    checkify.checkify,
    lax.fori_loop,
    lax.scan,
    lax.switch,
    lax.while_loop,
]


@each("function", FUNCTIONS, ids=lambda f: f.__qualname__)
def test_every_parameter_is_described(function):
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    lines = inspect.getdoc(function).partition("\nParameters\n")[2].splitlines()
    for name in names:
        (at,) = [
            i
            for i, line in enumerate(lines)
            if name in [x.strip("*") for x in line.partition(" : ")[0].split(", ")]
        ]
        assert lines[at + 1].startswith("    ")
        assert lines[at + 1].strip()


def test_what_methods_belong_to_is_no_parameter():
    assert "\nself\n" not in inspect.getdoc(fg.custom_jvp.defjvp)


def test_there_is_no_entry_that_none_needs():
    used = {name for function in FUNCTIONS for name in inspect.signature(function).parameters}
    assert {*COMMON.parameters} <= used
