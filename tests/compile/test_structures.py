"""Offsets within NumPy's and Python's objects, compared with the objects of this process."""

import warnings

import numpy as np
import pytest

import fungrad as fg
from fungrad.compile.native import source_with_kernels
from fungrad.compile.targets import host, structures
from tests.compile.compiling import needs_compiler, run

pytestmark = needs_compiler


@pytest.fixture
def again():
    """Have the machine asked anew, within the test and after it."""
    host.missing.cache_clear()
    yield
    host.missing.cache_clear()


def test_all_are_as_expected():
    assert structures.wrong() == ""


@pytest.mark.parametrize("by", [-8, -4, -1, 1, 4, 8])
@pytest.mark.parametrize("name", structures.FIELDS)
def test_a_wrong_offset_is_found(name, by, monkeypatch):
    field = structures.FIELDS[name]
    monkeypatch.setitem(structures.FIELDS, name, field._replace(offset=field.offset + by))
    blamed = "shape" if name == "strides" else name  # who sees first that they do not go together
    assert structures.wrong().startswith(f"the {blamed} of ")


def test_another_interface_is_found(monkeypatch):
    monkeypatch.setattr(structures, "ABIS", (0x3000000,))
    assert structures.wrong().startswith("NumPy's C interface has version 0x")


@pytest.mark.parametrize(("name", "value"), [("ALLOCATOR", b"mine"), ("VERSION", 126)])
def test_another_allocator_is_found(name, value, monkeypatch):
    monkeypatch.setattr(structures, name, value)
    assert structures.wrong() == "NumPy's allocators are described otherwise"


def test_kernels_are_not_used_and_a_warning_says_why(again, monkeypatch):
    field = structures.FIELDS["dtype"]
    monkeypatch.setitem(structures.FIELDS, "dtype", field._replace(offset=field.offset - 8))
    with pytest.warns(RuntimeWarning, match=r"no kernels are compiled.*\bthe dtype of array"):
        assert not host.available()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        x = np.linspace(0.0, 1.0, 50)
        assert source_with_kernels(fg.make_expr(lambda x: np.sin(x) * x)(x)) is None
        (found,), _ = run(lambda x: np.sin(x) * x, (x,), "eager")
        assert np.array_equal(found, np.sin(x) * x)
