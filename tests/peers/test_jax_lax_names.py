"""Every public name of `jax.lax` is in `fungrad.lax`, or there is a reason why not."""

import pytest

jax = pytest.importorskip("jax")

from fungrad import lax  # noqa: E402
from fungrad.lax.exclusions import EXCLUDED, reason  # noqa: E402

NAMES = [name for name in dir(jax.lax) if not name.startswith("_")]


def there(name):
    try:
        return getattr(lax, name) is not None
    except AttributeError:
        return False


@pytest.mark.parametrize("name", NAMES)
def test_name_is_there_or_excluded_with_a_reason(name):
    assert there(name) != (reason(name) is not None)


def test_exclusions_are_names_of_jax():
    assert sorted(EXCLUDED.keys() - set(NAMES)) == []


def test_all_names_are_found():
    assert sorted(name for name in lax.__all__ if not there(name)) == []
    assert set(lax.__all__) <= set(dir(lax))
