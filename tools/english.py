"""Count docstrings and comments that are hard to read, against ceilings that can only be lowered.

python tools/english.py                  # print the counts; fail if one is over its ceiling
python tools/english.py --lower          # lower the ceilings to the counts
python tools/english.py --list fungrad/core  # print each finding in some files or folders
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
CEILINGS = Path(__file__).with_suffix(".json")
HEAD = 100
"""Most characters of a head, which is the first line of a docstring."""
WORDS = 35
"""Most words of a sentence."""
CLAUSE = re.compile(r"\b(what|of which)\b", re.IGNORECASE)
"""The clauses that stand in heads where a noun should."""
TABLE = re.compile(r"^\s*={3,}(\s+={3,})+\s*$", re.MULTILINE)
"""The rule above the columns of a table."""
LONG_HEAD = f"heads of docstrings over {HEAD} characters"
NO_NOUN = 'heads with "what" or "of which"'
LONG_SENTENCE = f"sentences over {WORDS} words"
KINDS = (LONG_HEAD, NO_NOUN, LONG_SENTENCE)


class Finding(NamedTuple):
    """A text that is hard to read."""

    path: Path
    line: int
    kind: str
    text: str


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every docstring, those after assignments too."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        owner = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        before: ast.AST | None = None
        for position, child in enumerate(body):
            documents = (owner and position == 0) or isinstance(before, ast.Assign | ast.AnnAssign)
            if documents and isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                text = child.value.value
                if isinstance(text, str):
                    yield child.lineno, inspect.cleandoc(text)
            before = child


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every comment; those of adjacent lines are one."""
    start, last, lines = 0, -2, list[str]()
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                alone = not token.line[: token.start[1]].strip()
                if not (alone and token.start[0] == last + 1) and lines:
                    yield start, "\n".join(lines)
                    lines = []
                start = start if lines else token.start[0]
                lines.append(token.string.lstrip("# "))
                last = token.start[0] if alone else -2
    if lines:
        yield start, "\n".join(lines)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, without its examples, tables, and headings of sections."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        if TABLE.search(block):
            continue
        if ">>>" in block or re.search(r"^\s*[-=~]{3,}\s*$|^\s*[|{]", block, re.MULTILINE):
            block = "\n".join(re.split(r"^\s*>>>", block, maxsplit=1, flags=re.MULTILINE)[:1])
            block = re.sub(r"^[^\n]*\n\s*[-=~]{3,}\s*$|^\s*[|{].*$", "", block, flags=re.MULTILINE)
        for paragraph in indented(block):
            yield from re.split(r"(?<=[.!?])[)\"']*\s+", paragraph)


def indented(block: str) -> Iterator[str]:
    """Yield the parts of a block whose lines are indented alike: names of parameters, and their texts."""
    part, depth = list[str](), None
    for line in block.splitlines():
        if not line.strip():
            continue
        here = len(line) - len(line.lstrip())
        if part and here != depth:
            yield " ".join(part)
            part = []
        part.append(line.strip())
        depth = here
    if part:
        yield " ".join(part)


def words(sentence: str) -> int:
    """Count the words of a sentence; code in backticks is one."""
    plain = re.sub(r"``[^`]*``|`[^`]*`", "code", sentence)
    return sum(any(map(str.isalpha, word)) for word in plain.split())


def findings(paths: Iterable[Path]) -> Iterator[Finding]:
    """Yield what is hard to read in some files."""
    for path in paths:
        documents = list(docstrings(ast.parse(path.read_text("utf-8"))))
        for line, text in documents:
            head = text.partition("\n")[0]
            if len(head) > HEAD:
                yield Finding(path, line, LONG_HEAD, head)
            if CLAUSE.search(head):
                yield Finding(path, line, NO_NOUN, head)
        for line, text in [*documents, *comments(path)]:
            for sentence in sentences(text):
                if words(sentence) > WORDS:
                    yield Finding(path, line, LONG_SENTENCE, sentence)


def files(names: Iterable[str] = ("fungrad", "pytest_fungrad.py")) -> list[Path]:
    """Return the Python files of some folders and files, without those that stand for other libraries' modules."""
    found: list[Path] = []
    for name in names:
        path = ROOT / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return found


def over(counts: Counter[str], ceilings: dict[str, int]) -> list[str]:
    """Return the kinds whose counts are over their ceilings."""
    return [kind for kind in KINDS if counts[kind] > ceilings[kind]]


def main() -> int:
    """Print the counts, and compare them with the ceilings."""
    if "--list" in sys.argv[1:]:
        names = sys.argv[sys.argv.index("--list") + 1 :]
        for path, line, kind, text in findings(files(names)):
            print(f"{path.relative_to(ROOT)}:{line}: {kind}: {text}")
        return 0
    counts = Counter(finding.kind for finding in findings(files()))
    ceilings: dict[str, int] = json.loads(CEILINGS.read_text("utf-8"))
    if "--lower" in sys.argv[1:]:
        ceilings = {kind: min(ceilings[kind], counts[kind]) for kind in KINDS}
        CEILINGS.write_text(json.dumps(ceilings, indent=2) + "\n", "utf-8")
    for kind in KINDS:
        print(f"{kind}: {counts[kind]}, at most {ceilings[kind]}")
    if found := over(counts, ceilings):
        print(
            f"more than before: {', '.join(found)}; python tools/english.py --list FILE names them"
        )
    elif any(counts[kind] < ceilings[kind] for kind in KINDS):
        print("fewer than before: python tools/english.py --lower")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
