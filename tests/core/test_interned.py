"""Equal instances are one object, parameters of different types are different, nothing is kept."""

import dataclasses
import gc
import pickle
import threading
import weakref

import pytest

from fungrad.core import interned
from fungrad.core.interned import Interned
from fungrad.core.primitive import Primitive, primitive
from fungrad.primitives.elementwise import IntegerPower


@dataclasses.dataclass(frozen=True, eq=False)
class Point(metaclass=Interned):
    x: object
    y: object = 0


def test_identity():
    assert Point(1, 2) is Point(1, 2)
    assert Point(1) is Point(1, 0) is Point(x=1) is Point(y=0, x=1)
    assert Point(1, 2) is not Point(2, 1)
    assert Point((1, (2, 3))) is Point((1, (2, 3)))
    assert hash(Point(1)) == hash(Point(1))
    assert {Point(1): "kept"}[Point(1)] == "kept"


@pytest.mark.parametrize(("a", "b"), [(1, 1.0), (1, True), (0, False), (1.0, 1 + 0j)], ids=str)
def test_parameters_that_are_equal_but_of_other_types(a, b):
    assert a == b
    assert Point(a) is not Point(b)
    assert type(Point(a).x) is type(a)
    assert type(Point(b).x) is type(b)
    assert Point(x=a) is not Point(x=b)


def test_classes_are_apart():
    @dataclasses.dataclass(frozen=True, eq=False)
    class Other(metaclass=Interned):
        x: object
        y: object = 0

    assert Other(1) is not Point(1)
    assert type(Other(1)) is Other


def test_the_recent_are_forgotten_without_a_second_instance():
    kept = Point("kept", 7)
    interned._construct.cache_clear()
    assert Point("kept", 7) is kept


def test_instances_are_collected():
    gone = weakref.ref(Point("gone", 1))
    assert gone() is Point("gone", 1)
    interned._construct.cache_clear()
    gc.collect()
    assert gone() is None
    assert not [k for k in list(interned._instances) if "gone" in k[1]]


def test_a_replaced_field():
    assert dataclasses.replace(Point(1, 2), y=3) is Point(1, 3)


def test_unhashable_parameters_are_refused():
    with pytest.raises(TypeError, match="unhashable"):
        Point([1])


def test_threads_get_one_instance():
    found, start = [], threading.Barrier(8)

    def construct():
        start.wait()
        found.extend(Point("threads", i) for i in range(200))

    threads = [threading.Thread(target=construct) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1600
    assert len({id(p) for p in found}) == 200


def test_primitives_are_interned():
    @primitive
    class Scaled(Primitive):
        by: float
        name = "scaled"

    assert Scaled(2) is Scaled(2)
    assert Scaled(2) is not Scaled(2.0)
    assert repr(Scaled(2)) == "scaled[by=2]"
    assert IntegerPower(3) is IntegerPower(3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Scaled(2).by = 3


def test_names_in_snake_case():
    @primitive
    class TakeApart(Primitive):
        pass

    assert TakeApart().name == "take_apart"
    assert TakeApart().multiple_results is False


def test_copies_of_primitives_are_the_same():
    import copy

    p = IntegerPower(3)
    for again in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert again is p
