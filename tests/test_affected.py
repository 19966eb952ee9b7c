"""The map of `make affected`: each folder of fungrad/ has tests, and each path that it names is there."""

import pytest

from tests.affected import ALL, ALWAYS, CONCERNS, ROOT, affected, concerned

FUNGRAD = [
    path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / "fungrad").iterdir())
    if path.suffix in (".py", "") and path.name[0] not in "._" and path.name != "py.typed"
]


@pytest.mark.parametrize("name", FUNGRAD)
def test_each_part_of_the_package_has_tests(name):
    path = f"{name}/x.py" if (ROOT / name).is_dir() else name
    assert any((ROOT / p).exists() for p in concerned(path) - {path})


def test_paths_exist():
    named = {*CONCERNS, *ALWAYS, *[p for paths in CONCERNS.values() for p in paths]}
    assert [p for p in named if not (ROOT / p).exists()] == []


def test_what_a_change_concerns():
    assert affected(["fungrad/core/trace.py"]) == sorted(ALL)
    assert {"tests/random", "fungrad/random/keys.py"} <= {*affected(["fungrad/random/keys.py"])}
    assert affected(["tests/optim/test_projections.py"]) == sorted(
        ["tests/optim/test_projections.py", *ALWAYS]
    )
    assert "tests/compile" in affected(["tests/compile/compiling.py"])
    assert "tests/test_site.py" in affected(["docs/compiler.md"])
    assert affected([]) == sorted(ALWAYS)
