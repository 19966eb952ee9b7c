"""The check of docstrings and comments that `make lint` runs: what it finds, and ceilings that only go down."""

import ast
import json
from collections import Counter

import pytest

from tools import english

LONG = "word " * 36


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "module.py"
        path.write_text(text, "utf-8")
        return [(f.line, f.kind) for f in english.findings([path])]

    return written


def test_there_is_a_ceiling_for_each_kind():
    ceilings = json.loads(english.CEILINGS.read_text("utf-8"))
    assert tuple(ceilings) == english.KINDS
    counts = Counter({english.NO_NOUN: ceilings[english.NO_NOUN] + 1})
    assert english.over(counts, ceilings) == [english.NO_NOUN]


def test_heads(write):
    assert write('"""Sum of two arrays."""\ndef f():\n    """Return the sum."""\n') == []
    assert write('"""What is left."""\n') == [(1, english.NO_NOUN)]
    assert write('"""Parts.\n\nWhat is left is said here."""\n') == []
    assert write('x = 1\n"""The axes, of which there are two."""\n') == [(2, english.NO_NOUN)]
    assert write(f'def f():\n    """{"x" * 101}\n\n    More.\n    """\n') == [
        (2, english.LONG_HEAD)
    ]
    assert write(f'class A:\n    x: int\n    """{"x" * 101}"""\n') == [(3, english.LONG_HEAD)]
    assert write('"""Somewhat."""\n"""What is no docstring."""\n') == []


def test_sentences(write):
    assert write(f'"""Head.\n\n{LONG}.\n"""\n') == [(1, english.LONG_SENTENCE)]
    assert write(f'"""Head.\n\n{LONG[:60]}. {LONG[:60]}.\n"""\n') == []
    assert write(f"# {LONG}\nx = 1\n") == [(1, english.LONG_SENTENCE)]
    half = LONG[: len(LONG) // 2]
    assert write(f"x = 1\n# {half}\n# {half}\n") == [(2, english.LONG_SENTENCE)]
    assert write(f"x = 1  # {half}\ny = 1  # {half}\n") == []
    examples = (
        f'"""Head.\n\n>>> f()\n{LONG}\n\nParameters\n----------\nx\n    {half}\ny\n    {half}\n"""'
    )
    assert write(examples) == []


def test_code_is_one_word():
    assert english.words("Of `a b c` and ``d e``, 12 of them - all.") == 7


def test_ceilings_can_only_be_lowered(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(english, "CEILINGS", tmp_path / "ceilings.json")
    monkeypatch.setattr(english, "files", list)
    monkeypatch.setattr(
        english, "findings", lambda _: [english.Finding(tmp_path, 1, english.NO_NOUN, "")] * 3
    )
    for ceiling, code, kept in (2, 1, 2), (3, 0, 3), (5, 0, 3):
        english.CEILINGS.write_text(json.dumps(dict.fromkeys(english.KINDS, ceiling)))
        monkeypatch.setattr("sys.argv", ["english.py", "--lower"])
        assert english.main() == code
        assert json.loads(english.CEILINGS.read_text())[english.NO_NOUN] == kept
    assert "more than before" in capsys.readouterr().out


def test_docstrings_after_assignments_are_found():
    tree = ast.parse('class A:\n    x: int\n    """X."""\n    y = 1\n    """Y."""\n')
    assert [text for _, text in english.docstrings(tree)] == ["X.", "Y."]
