"""The site: `make docs` builds it. Its source is the repository's root, so links hold on a git host too."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import fungrad  # noqa: E402
from docs import pages  # noqa: E402

project = "fungrad"
author = "The fungrad authors"
version = release = fungrad.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx-mathjax-offline",
]

root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/*.ipynb", *pages.TOP]
exclude_patterns = [".*", "**/.*", "docs/_build", "**/__pycache__"]

# Text: docstrings name things in single backticks, which are links where there is something of that name.
default_role = "py:obj"
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "html_image"]
nb_execution_mode = "off"  # the outputs are kept in the files, and tested
nb_merge_streams = True

# Reference
autodoc_typehints = "none"  # docstrings say it in words
autodoc_default_options = {"members": True, "member-order": "bysource"}
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
nitpicky = True
# What docstrings put in backticks may be a parameter, and other libraries have pages of their own.
nitpick_ignore_regex = [("py:(obj|class|exc)", ".*"), ("py:.*", r"(?!fungrad\.).*")]
suppress_warnings = ["ref.python"]  # a parameter that has the name of several attributes

# Looks
html_theme = "pydata_sphinx_theme"
html_title = "fungrad"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "to_the_site.html"}
templates_path = ["templates"]
html_context = {"default_mode": "auto"}
html_scaled_image_link = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "fungrad"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
copyright = "The fungrad authors, Apache-2.0"


def _as_it_is_read(app, what, name, value, options, lines):
    """Take out what would lead nowhere: labels, terms and notes of NumPy's and SciPy's own sites."""
    text = re.sub(r":(?:ref|term):`([^`<]+?)(?: ?<[^`]*)?`", r"\1", "\n".join(lines))
    if ".. [" not in text:
        text = re.sub(r" ?\[\d+\]_", "", text)
    lines[:] = text.split("\n")
    if what in ("attribute", "data", "property"):
        # Else napoleon would take what stands before a colon in the first line for a type.
        lines[:0] = ["..", ""]


def _without_last_empty_lines(app, docname, source):
    """Take out the empty line that doctest needs before the end of an example."""
    source[0] = re.sub(r"\n\n```(?=\n|$)", "\n```", source[0])


def setup(app):
    """Write the pages that are made, before Sphinx looks for pages."""
    app.connect("autodoc-process-docstring", _as_it_is_read, priority=400)  # napoleon: 500
    app.connect("source-read", _without_last_empty_lines)
    app.connect("builder-inited", lambda app: pages.write(ROOT / "docs" / "generated"))
