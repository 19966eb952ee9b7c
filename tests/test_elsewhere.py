"""Names of other libraries that are asked for: each gets the one that is written here, which exists."""

import pkgutil
import re

import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.numpy import elsewhere
from fungrad.numpy.elsewhere import instead_of
from fungrad.numpy.spellings import ADVICE, SPELLINGS
from tests.folding import each


def find(path):
    value = fg
    for part in path.split("."):
        value = getattr(value, part)
    return value


@each("here", SPELLINGS)
def test_what_a_row_suggests_exists_and_is_called_otherwise(here):
    find(here)
    names = SPELLINGS[here].split()
    assert names
    assert here.rpartition(".")[2] not in names or "." in here.removeprefix("numpy.")
    for name in names:
        assert instead_of(name) == f"write fungrad.{here}"


def test_a_name_has_one_row():
    names = [name for row in SPELLINGS.values() for name in row.split()] + [*ADVICE]
    assert sorted(names) == sorted(set(names))


@each("name", ADVICE)
def test_what_advice_mentions_exists(name):
    for path in re.findall(r"fungrad\.([a-z_.0-9]*[a-z0-9])", ADVICE[name]):
        find(path)
    assert not hasattr(fg, name)


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        (fg, "elementwise_grad", r"fungrad has no 'elementwise_grad': write fungrad.vmap\(fungrad.grad\(f\)\)"),
        (fg, "backward", "fungrad has no 'backward': no array knows of gradients.*fungrad.grad"),
        (fg, "no_grad", "fungrad has no 'no_grad': write fungrad.stop_gradient$"),
        (fg, "Linear", "write x @ w \\+ b"),
        (fg, "save", "it is fungrad.training.save$"),
        (fg, "DataLoader", "write fungrad.training.minibatches$"),
        (fg, "functional_call", "a model is a function of its parameters already"),
        (fg, "make_jvp_reversemode", "write fungrad.jvp$"),
        (fg, "hessian_tensor_product", "write fungrad.hvp$"),
        (fg, "xla_computation", "write fungrad.jit\\(f\\).lower"),
        (fnp, "masked_select", "write fungrad.numpy.where"),
        (fnp, "addmm", "write c \\+ a @ b$"),
        (fnp, "unbind", "write fungrad.numpy.unstack$"),
        (fnp, "cdist", "write fungrad.numpy.linalg.norm"),
        (fg, "scan", "fungrad has no 'scan': it is fungrad.lax.scan$"),
        (fg, "io_callback", "it is fungrad.experimental.io_callback$"),
        (fg, "sin", "fungrad has no 'sin': it is fungrad.numpy.sin$"),
        (fg, "tree_leaves", "write fungrad.tree.leaves$"),
        (fg, "valu_and_grad", "module 'fungrad' has no attribute 'valu_and_grad'; did you mean 'value_and_grad'"),
        (fnp, "cat", "fungrad.numpy has no 'cat': write fungrad.numpy.concatenate$"),
        (fnp, "softmax", "fungrad.numpy has no 'softmax': it is fungrad.nn.softmax$"),
        (fnp, "solve", "write fungrad.numpy.linalg.solve$"),
        (fg.lax, "unsqueeze", "fungrad.lax has no 'unsqueeze': write fungrad.numpy.expand_dims$"),
        (fg.lax, "vmap", "fungrad.lax has no 'vmap': it is fungrad.vmap$"),
        (fg.nn, "cross_entropy", "write fungrad.nn.softmax_cross_entropy_with_integer_labels$"),
        (fg.random, "randn", "write fungrad.random.normal$"),
        (fg.optim, "Adam", "write fungrad.optim.adam$"),
        (fg.scipy.special, "lgamma", "write fungrad.scipy.special.gammaln$"),
        (fg.scipy, "optimise", "module 'fungrad.scipy' has no attribute 'optimise'; did you mean 'optimize'"),
        (fg.debug, "prnt", "module 'fungrad.debug' has no attribute 'prnt'; did you mean 'print'"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_there(module, name, message):
    with pytest.raises(AttributeError, match=message) as error:
        getattr(module, name)
    assert error.value.name == name


def test_names_that_python_asks_for_are_not_looked_up():
    assert instead_of("__wrapped__") is None
    assert not hasattr(fg, "__wrapped__")


def test_modules_that_are_imported_are_not_looked_up(monkeypatch):
    """``from package import module`` asks the package first, and would import all that may have such a name."""
    monkeypatch.setattr(elsewhere, "_MODULES", ("no module of this name",))
    for package in (fg, fnp, fg.optim, fg.show, fg.lax):
        for module in pkgutil.iter_modules(package.__path__):
            assert not (instead_of(module.name, package.__name__) or "").startswith("it is")
    with pytest.raises(ModuleNotFoundError):
        instead_of("another", "fungrad.show")
