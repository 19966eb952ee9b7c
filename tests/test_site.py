"""The site has everything, by its lists alone: Sphinx is not needed. Figures in README.md and docs/ are those of the results."""

import functools
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import fungrad
from benchmarks import tables
from docs import pages
from tests.folding import each
from tools import links

ROOT = Path(__file__).parent.parent
WRITTEN = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "design").glob("*.md")])
MARKDOWN = [
    *WRITTEN,
    *ROOT.glob("*.md"),
    *ROOT.glob("benchmarks/**/*.md"),
    *ROOT.glob("examples/*.md"),
]


public_modules = functools.cache(pages.public_modules)


@pytest.fixture(scope="module")
def made():
    return {**pages.api(), **pages.gallery(), **pages.benchmark_page()}


def in_toctrees():
    """Return the pages that lists of written pages name, with what matches their patterns."""
    found = []
    for path in WRITTEN:
        for block in re.findall(
            r"^```\{toctree\}\n(.*?)^```", path.read_text("utf-8"), re.M | re.S
        ):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            found += [e[1:] if e.startswith("/") else f"docs/{e}" for e in entries]
    return found


def is_listed(page, entries):
    return any(page == entry or Path(page).match(entry) for entry in entries)


def test_every_page_is_in_a_list(made):
    entries = in_toctrees()
    sources = [
        *WRITTEN,
        *(ROOT / "notebooks").glob("*.ipynb"),
        *(ROOT / name for name in pages.TOP),
    ]
    names = [path.relative_to(ROOT).with_suffix("").as_posix() for path in sources]
    names += ["docs/generated/gallery", "docs/generated/benchmarks"]
    missing = [n for n in names if n != "docs/index" and not is_listed(n, entries)]
    assert not missing, "name them in a toctree of docs/guides.md or of another page of docs/"


def test_every_list_names_pages_that_are_there(made):
    for entry in in_toctrees():
        folder = entry.rpartition("/")[0]
        there = [f"docs/generated/{page}".rpartition(".")[0] for page in made]
        there += [
            p.relative_to(ROOT).with_suffix("").as_posix() for p in (ROOT / folder).glob("*.*")
        ]
        assert any(is_listed(page, [entry]) for page in there), entry


def test_no_page_is_in_two_lists():
    entries = in_toctrees()
    assert len(entries) == len(set(entries))


def test_every_public_module_has_a_page(made):
    """Those that the package's docstring names, and whatever stands for another library."""
    named = re.findall(r"`(fungrad\.[\w.]+)`", fungrad.__doc__)
    modules = {n for n in named if importlib.util.find_spec(n)}
    compat = importlib.import_module("fungrad.compat")
    modules |= {
        f"fungrad.compat.{m.name}" for m in pkgutil.iter_modules(compat.__path__) if m.ispkg
    }
    assert modules > {"fungrad.numpy", "fungrad.optim", "fungrad.compat.jax"}
    assert {f"api/{name}.rst" for name in modules} <= set(made)
    assert "api/fungrad.scipy.sparse.linalg.rst" in made


@each("name", public_modules)
def test_every_public_name_is_described(name, made):
    module = public_modules()[name]
    text = "".join(
        t for page, t in made.items() if re.fullmatch(rf"api/{re.escape(name)}(-\w+)?\.rst", page)
    )
    described = set(re.findall(rf"^\.\. auto\w+:: {re.escape(name)}\.(\w+)$", text, re.M))
    elsewhere = set(re.findall(r"^- ``(\w+)``", text, re.M))
    children = {n for n in pages.public_names(module) if f"api/{name}.{n}.rst" in made}
    others = {n for n in pages.public_names(module) if isinstance(getattr(module, n), type(pages))}
    assert set(pages.public_names(module)) == described | elsewhere | children | others
    assert not described & elsewhere


def test_large_modules_have_a_page_for_each_part(made):
    assert "autofunction:: fungrad.numpy.einsum" in made["api/fungrad.numpy-einstein.rst"]
    assert "autofunction" not in made["api/fungrad.numpy.rst"]
    assert "autofunction:: fungrad.training.save" in made["api/fungrad.training.rst"]


def test_what_two_modules_have_is_described_once(made):
    assert "- ``hinge_loss``: `fungrad.nn.hinge_loss`" in made["api/fungrad.nn.losses.rst"]


def test_every_example_is_in_the_gallery(made):
    examples = {
        path.stem for path in (ROOT / "examples").glob("*.py") if not path.stem.startswith("_")
    }
    for name in examples - {"outcome", "tasks"}:
        assert f":img-top: /docs/pictures/{name}.png" in made["gallery.rst"]
        assert f"literalinclude:: /examples/{name}.py" in made[f"examples/{name}.rst"]


def test_benchmark_page_has_every_program(made):
    rows = made["benchmarks.md"]
    for name in tables.read(tables.newest("native")):
        assert f"| `{name.removeprefix('native_')}`: " in rows
    for path in tables.RESULTS.glob("*-cores*.md"):
        assert f"results/{path.stem}.md" in made


def test_made_pages_are_written_once(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "api", dict)
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "old.rst").write_text("no longer there")
    pages.write(tmp_path)
    assert not (tmp_path / "api" / "old.rst").exists()
    before = (tmp_path / "gallery.rst").stat().st_mtime_ns
    pages.write(tmp_path)
    assert (tmp_path / "gallery.rst").stat().st_mtime_ns == before


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.stem)
def test_page_has_the_figures_of_the_results(page):
    text = page.read_text("utf-8")
    assert re.findall(r"<!-- figures: (.*?) -->", text) == tables.PAGES[page]
    assert tables.filled(text) == text, "make readme-table"


def test_each_table_stands_on_a_page():
    assert [name for names in tables.PAGES.values() for name in names] == [*tables.TABLES]


def test_figures_are_written_between_marks():
    old = "a\n<!-- figures: training -->\nold\n<!-- end of figures -->\nb\n"
    new = tables.filled(old)
    assert "old" not in new
    assert new.startswith("a\n")
    assert new.endswith("<!-- end of figures -->\nb\n")
    assert tables.training() in new
    assert [tables.digits(x) for x in (144.3, 9.96, 7.15, 1.04, 0.942)] == [
        "144",
        "10",
        "7.2",
        "1.04",
        "0.94",
    ]


@each("path", MARKDOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_of_written_pages_lead_somewhere(path):
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text("utf-8"), flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text)
    local = [a or b for a, b in targets if not re.match(r"https?:|#", a or b)]
    files = [path.parent / target.partition("#")[0] for target in local]
    made = (ROOT / "docs" / "generated").resolve()
    lost = [f for f in files if not f.exists() and made not in f.resolve().parents]
    assert not lost


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="https://example.org">2</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p><a href="#here">3</a><img src="c.png">')
    broken, external = links.check(tmp_path)
    assert broken == [
        "b.html: #here: the page has no such place",
        "b.html: c.png: there is no such file",
    ]
    assert external == {"https://example.org"}


def test_citation_has_the_version():
    assert f"\nversion: {fungrad.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
