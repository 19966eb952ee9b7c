"""Keys that are used twice, where that is checked."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax, random
from fungrad.random import reuse

KEY = random.key(5)


def twice(key):
    return random.normal(key) + random.uniform(key)


def split_first(key):
    key, other = random.split(key)
    return random.normal(key) + random.uniform(other)


def split_after(key):
    x = random.normal(key)
    return x, random.split(key)


def in_a_loop(key):
    return lax.scan(lambda c, _: (c + random.normal(key), None), 0.0, None, length=3)[0]


def carried(key):
    def step(key, _):
        key, other = random.split(key)
        return key, random.normal(other)

    return lax.scan(step, key, None, length=3)[1]


def carried_wrongly(key):
    return lax.scan(lambda key, _: (key, random.normal(key)), key, None, length=3)[1]


def folded(key):
    return [random.normal(random.fold_in(key, i)) for i in range(3)]


def folded_twice(key):
    return [random.normal(random.fold_in(key, i)) for i in (0, 0)]


def cloned(key):
    return random.normal(random.clone(key)) + random.normal(key)


def element_twice(key):
    keys = random.split(key)
    return random.normal(keys[0]) + random.normal(keys[0])


def mapped(key):
    return fg.vmap(random.normal)(random.split(key, 3))


def mapped_wrongly(key):
    keys = random.split(key, 3)
    return fg.vmap(random.normal)(keys) + fg.vmap(random.uniform)(keys[::-1])


def chosen(key):
    return random.choice(key, 5, (3,), replace=False), random.key_data(key)


def made_again(key):
    return random.normal(random.key(0)) + random.normal(random.key(0))


def in_one_branch(key):
    return lax.cond(True, random.normal, lambda k: random.normal(k) + 1, key)


def in_a_branch_and_after(key):
    return lax.cond(True, random.normal, lambda k: 0.0, key) + random.normal(key)


RIGHT = [
    split_first, carried, folded, folded_twice, cloned, mapped, chosen, made_again, in_one_branch,
]  # fmt: skip
WRONG = [
    twice, split_after, in_a_loop, carried_wrongly, element_twice, mapped_wrongly,
    in_a_branch_and_after,
]  # fmt: skip
TRANSFORMS = {
    "plain": lambda f: f,
    "jit": fg.jit,
    "vmap": lambda f: lambda key: fg.vmap(f)(random.split(random.clone(key), 2)),
    "jit of vmap": lambda f: fg.jit(lambda key: fg.vmap(f)(random.split(random.clone(key), 2))),
    "grad": lambda f: lambda key: fg.grad(lambda x: (f(key), x)[1])(1.0),
    "inner jit": lambda f: fg.jit(lambda key: fg.jit(f)(key)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", RIGHT, ids=lambda f: f.__name__)
def test_uses_that_are_right(f, transform):
    with fg.debug_key_reuse():
        TRANSFORMS[transform](f)(KEY)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", WRONG, ids=lambda f: f.__name__)
def test_uses_that_are_wrong(f, transform):
    g = TRANSFORMS[transform](f)
    g(KEY)  # it is not checked
    message = r"uses a key that random\.\w+ has used, at"
    with fg.debug_key_reuse(), pytest.raises(fg.KeyReuseError, match=message):
        g(KEY)
    g(KEY)


def test_a_jitted_function_uses_its_argument():
    draw = fg.jit(random.normal)
    with fg.debug_key_reuse():
        draw(KEY)
        with pytest.raises(fg.KeyReuseError):
            draw(KEY)
    with fg.debug_key_reuse():  # each block begins anew
        draw(KEY)


def test_the_message_names_both_lines():
    with fg.debug_key_reuse():
        first = random.normal(KEY)
        with pytest.raises(fg.KeyReuseError) as caught:
            first + random.uniform(KEY)
    message = str(caught.value)
    start = "random.uniform uses a key that random.normal has used, at test_reuse.py:"
    assert message.startswith(start)
    assert "first = random.normal(KEY)" in message
    assert "first + random.uniform(KEY)" in message
    assert "random.split(key)" in message


def test_raw_keys_are_not_checked():
    raw = random.PRNGKey(0)
    with fg.debug_key_reuse():
        assert random.normal(raw) == random.normal(raw)


def test_the_setting_of_the_process():
    fg.config.update("jax_debug_key_reuse", True)
    try:
        assert fg.config.debug_key_reuse
        with pytest.raises(fg.KeyReuseError):
            twice(KEY)
        with fg.debug_key_reuse(False):
            twice(KEY)
    finally:
        fg.config.update("debug_key_reuse", False)
    twice(KEY)


def test_few_keys_are_remembered(monkeypatch):
    monkeypatch.setattr(reuse, "KEPT", 4)
    keys = random.split(KEY, 20)
    with fg.debug_key_reuse():
        for key in keys:
            random.normal(key)
        assert len(reuse.settings.get().key_uses) == 4
        np.testing.assert_allclose(random.normal(keys[0]), random.normal(random.clone(keys[0])))
