"""`tools/ecosystem.py --install`, with a program in the place of pip that knows some of the libraries."""

import sys

import pytest

PIP = """
import sys
sys.exit(any(x.startswith(tuple({!r})) for x in sys.argv[1:]))
"""


@pytest.fixture
def install(tool, tmp_path):
    def without(*names):
        file = tmp_path / "pip.py"
        file.write_text(PIP.format([*names, "-"]))
        return tool.install((sys.executable, str(file)))

    return without


def test_what_cannot_be_installed_is_left_out(install, capsys):
    assert install() == []
    assert install("blackjax", "jraph") == ["blackjax>=1.2", "jraph"]
    assert "not installed, and left out: blackjax>=1.2, jraph" in capsys.readouterr().out


def test_without_jax_there_is_nothing_to_compare_with(install):
    with pytest.raises(SystemExit, match=r"not installed: jax>=0\.5; JAX and autograd are what"):
        install("jax>")
