"""The cache is bounded, forgets what was used least recently, and builds once for all threads."""

import contextlib
import itertools
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fungrad.core.cache import Hashed, LRUCache


def fill(cache, keys):
    for key in keys:
        cache.get_or_build(key, lambda key=key: f"value {key}")


def test_it_builds_once():
    cache = LRUCache(4)
    built = []
    for _ in range(3):
        assert cache.get_or_build("a", lambda: built.append(1) or "A") == "A"
    assert built == [1]
    assert cache.info() == (2, 1, 4, 1)
    assert cache.get("a") == "A"
    assert cache.get("b") is None
    assert cache.info() == (3, 1, 4, 1)


def test_a_long_key_is_hashed_once():
    class Part:
        hashed = 0

        def __hash__(self):
            Part.hashed += 1
            return 1

    part, cache = Part(), LRUCache(4)
    key = Hashed((part, "a"))
    assert cache.get_or_build(key, lambda: "A") == cache.get(key) == "A"
    assert Part.hashed == 1
    assert cache.get(Hashed((part, "a"))) == "A"
    assert cache.get(Hashed((part, "b"))) is None


def test_the_number_is_bounded():
    cache = LRUCache(3)
    fill(cache, range(10))
    assert cache.info().currsize == 3
    assert [cache.get(k) for k in range(10)] == [None] * 7 + ["value 7", "value 8", "value 9"]


def test_the_least_recently_used_goes_first():
    cache = LRUCache(3)
    fill(cache, "abc")
    cache.get("a")
    fill(cache, "b")
    fill(cache, "d")
    assert cache.get("c") is None
    assert cache.get("a")
    assert cache.get("b")


def test_the_weight_is_bounded():
    cache = LRUCache(100, maxweight=10)
    for key in range(10):
        cache.get_or_build(key, lambda key=key: key + 1, weigh=float)
    # 10 weighs as much as is allowed in all.
    assert [k for k in range(10) if cache.get(k)] == [9]
    cache.get_or_build("light", lambda: 3, weigh=lambda _: 3.0)
    assert cache.get(9) is None
    assert cache.get("light") == 3
    cache.get_or_build("other", lambda: 7, weigh=lambda _: 7.0)
    assert cache.get("light") == 3


def test_one_that_is_too_heavy_is_kept_alone():
    cache = LRUCache(100, maxweight=10)
    fill(cache, "abc")
    cache.get_or_build("heavy", lambda: 1, weigh=lambda _: 1e6)
    assert cache.info().currsize == 1
    assert cache.get("heavy") == 1
    fill(cache, "d")
    assert cache.get("heavy") is None
    assert cache.get("d")


def test_a_failed_build_leaves_nothing():
    cache = LRUCache(3)

    def fail():
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            cache.get_or_build("a", fail)
    assert cache.info() == (0, 0, 3, 0)
    assert cache.get_or_build("a", lambda: 1) == 1
    assert not cache._building


def test_clear():
    cache = LRUCache(3, maxweight=5)
    fill(cache, "abc")
    cache.clear()
    assert cache.info() == (0, 0, 3, 0)
    assert cache.get("a") is None
    for key in range(3):
        cache.get_or_build(key, lambda: "x", weigh=lambda _: 1.5)
    assert cache.info().currsize == 3  # the weight was forgotten as well


def test_building_inside_a_build():
    cache = LRUCache(10)

    def depth(n):
        return cache.get_or_build(n, lambda: 0 if n == 0 else depth(n - 1) + 1)

    assert depth(5) == 5
    assert cache.info().misses == 6


def test_building_itself_inside_a_build():
    cache = LRUCache(2)
    found = cache.get_or_build("a", lambda: cache.get_or_build("a", lambda: "inner") + " and outer")
    assert found == cache.get("a") == "inner and outer"
    fill(cache, "bcd")
    assert [cache.get(k) for k in "abcd"] == [None, None, "value c", "value d"]


@pytest.mark.parametrize("seed", range(5))
def test_it_is_exactly_the_least_recently_used_that_goes(seed):
    draw, cache, model = random.Random(seed), LRUCache(8), dict[int, str]()
    for _ in range(500):
        key = draw.randrange(16)
        assert (cache.get(key) is None) == (key not in model)
        fill(cache, [key])
        model.pop(key, None)
        model[key] = f"value {key}"  # a dict is in order of insertion
        if len(model) > 8:
            del model[next(iter(model))]
    assert set(cache.values()) == set(model.values())


def test_one_build_for_eight_threads():
    cache = LRUCache(10)
    built, start = [], threading.Barrier(8)
    release = threading.Event()

    def build():
        built.append(threading.get_ident())
        release.wait(5)
        return "value"

    def work():
        start.wait()
        return cache.get_or_build("key", build)

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(work) for _ in range(8)]
        release.set()
        assert [f.result() for f in futures] == ["value"] * 8
    assert len(built) == 1
    assert cache.info() == (7, 1, 10, 1)
    assert not cache._building


def test_different_keys_are_built_at_the_same_time():
    cache = LRUCache(10)
    both = threading.Barrier(2, timeout=5)

    def build():
        both.wait()  # passes only if the other build runs too
        return 1

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(cache.get_or_build, key, build) for key in "ab"]
        assert [f.result() for f in futures] == [1, 1]


def test_many_threads_and_few_places():
    cache = LRUCache(8, maxweight=20)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(seed):
        rng = random.Random(seed)
        for _ in range(500):
            key = rng.randrange(24)
            value = cache.get_or_build(
                key, lambda key=key: (key, "v"), weigh=lambda v: 1 + v[0] % 4
            )
            assert value == (key, "v")
            if rng.random() < 0.01:
                cache.clear()

    try:
        with ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(work, seed) for seed in range(8)]:
                future.result()
    finally:
        sys.setswitchinterval(interval)
    assert cache.info().currsize <= 8
    weight = sum(entry.weight for entry in cache._entries.values())
    assert weight <= 20
    assert not cache._building


def test_failing_builds_in_many_threads():
    """Whoever waits for a build that fails builds anew; the weights still add up."""
    cache = LRUCache(100, maxweight=50)
    attempts = itertools.count()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def build():
        if next(attempts) % 3 == 0:
            raise ValueError
        return "v"

    def work(seed):
        for i in range(300):
            with contextlib.suppress(ValueError):
                assert cache.get_or_build(i % 100, build) == "v"

    try:
        with ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(work, seed) for seed in range(8)]:
                future.result()
    finally:
        sys.setswitchinterval(interval)
    assert sum(entry.weight for entry in cache._entries.values()) <= 50
    assert not cache._building


def test_a_build_that_waited_for_a_failed_one():
    """A thread that waited for a failed build, and one that came after it, do not both build."""
    cache = LRUCache(10)
    first_runs, fail_now, built = threading.Event(), threading.Event(), []

    def failing():
        first_runs.set()
        fail_now.wait(5)
        raise ValueError

    second_runs, go_on = threading.Event(), threading.Event()

    def slow():
        built.append("slow")
        second_runs.set()
        go_on.wait(5)
        return "v"

    def quick():
        built.append("quick")
        return "v"

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(cache.get_or_build, "k", failing)
        first_runs.wait(5)
        second = pool.submit(cache.get_or_build, "k", slow)  # waits for the first
        while not second.running():
            pass
        threading.Event().wait(0.05)
        fail_now.set()
        second_runs.wait(5)
        with pytest.raises(ValueError):  # noqa: PT011
            first.result()
        third = pool.submit(cache.get_or_build, "k", quick)
        threading.Event().wait(0.05)
        go_on.set()
        assert (second.result(), third.result()) == ("v", "v")
    assert built == ["slow"]
    assert len(cache._entries) == 1
    assert not cache._building
