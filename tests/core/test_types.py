"""Types of arrays: what is refused, what is equal, what is weak."""

import numpy as np
import pytest

from fungrad.core.types import ArrayType, array_type, float0, is_added, is_array, kind_of, type_of

F64 = np.dtype(np.float64)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.ones((2, 3)), "float64[2,3]"),
        (np.ones((0, 1), np.complex64), "complex64[0,1]"),
        (np.float32(1), "float32[]"),
        (np.array(True), "bool[]"),
        (True, "bool[]"),
        (1, "int64[]"),
        (1.0, "float64[]"),
        (1j, "complex128[]"),
        (np.zeros(2, float0), "void[2]"),
        (array_type((4,), F64), "float64[4]"),
    ],
    ids=repr,
)
def test_type_of(value, text):
    assert str(type_of(value)).replace("void0", "void") == text
    assert is_array(value)


def test_only_programs_mark_the_types_of_python_numbers():
    assert (str(type_of(1)), repr(type_of(1))) == ("int64[]", "int64[]*")
    assert (str(type_of(np.int64(1))), repr(type_of(np.int64(1)))) == ("int64[]", "int64[]")


@pytest.mark.parametrize("value", [None, [1.0], "1", {}, ..., np.dtype(float), int], ids=str)
def test_what_is_no_array(value):
    assert not is_array(value)
    with pytest.raises(TypeError, match="is not an array or a number"):
        type_of(value)


@pytest.mark.parametrize(
    "value",
    [
        *(np.array(["a"]), np.array([b"a"]), np.array([None]), np.array(["2020"], "M8[D]")),
        *(np.array([1], "m8[s]"), np.zeros(1, [("a", float)]), np.zeros(1, "V8")),
        np.array(["a"], np.dtypes.StringDType()),
    ],
    ids=lambda x: f"{x.dtype.kind}{x.dtype.itemsize}",
)
def test_arrays_that_hold_no_numbers(value):
    assert not is_array(value)
    with pytest.raises(TypeError, match="cannot be traced"):
        type_of(value)


def test_equal_types_are_the_same_object():
    assert array_type((2,), F64) is array_type((2,), np.dtype("float64"))
    assert array_type((2,), F64) is ArrayType((2,), F64)
    assert array_type((2,), F64) is type_of(np.ones(2))
    assert array_type((2,), F64) is not array_type((2,), F64, True)
    assert len({array_type((2,), F64), array_type((2,), F64), array_type((), F64)}) == 2


def test_byte_order_is_no_part_of_a_type():
    swapped = np.ones(2, ">f8" if np.little_endian else "<f8")
    assert type_of(swapped) is type_of(np.ones(2))


def test_update():
    t = array_type((2, 3), F64)
    assert t.update(weak=True) is array_type((2, 3), F64, True)
    assert t.update(shape=()) is array_type((), F64)
    assert t.update() is t


def test_types_are_frozen():
    with pytest.raises(AttributeError):
        type_of(1.0).weak = False


@pytest.mark.parametrize(
    ("dtype", "inexact"),
    [
        (float, True),
        (np.float16, True),
        (complex, True),
        (int, False),
        (bool, False),
        (float0, False),
    ],
)
def test_inexact(dtype, inexact):
    assert type_of(np.zeros(1, dtype)).inexact is inexact


def test_sizes():
    t = array_type((2, 0, 3), F64)
    assert (t.ndim, t.size) == (3, 0)
    assert (array_type((), F64).ndim, array_type((), F64).size) == (0, 1)


def test_masked_arrays_are_refused():
    with pytest.raises(TypeError, match="mask would be lost"):
        type_of(np.ma.array([1.0, 2.0], mask=[True, False]))


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("?", "b"), ("i2", "i"), ("u8", "u"), ("g", "f"), ("c8", "c"), ("M8[D]", "M"), ("S3", "S")],
)
def test_kinds(dtype, kind):
    assert kind_of(np.dtype(dtype)) == kind


def test_float0_is_of_no_kind():
    assert kind_of(float0) == "V"
    assert not is_added(float0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("bfloat16", "f"), ("float8_e4m3fn", "f"), ("float8_e5m2", "f")),
        *(("int4", "i"), ("uint4", "u")),
    ],
)
def test_kinds_of_added_dtypes(name, kind):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    assert is_added(dtype)
    assert kind_of(dtype) == kind
    assert array_type((2,), dtype).inexact is (kind == "f")
    assert str(array_type((2,), dtype)) == f"{name}[2]"
