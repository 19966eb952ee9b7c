"""Look for broken links within a folder of HTML: to files that are not there, and to places that no file has.

python tools/links.py docs/_build/html               # fails if there are any
python tools/links.py docs/_build/html --external    # list links to elsewhere, which are not followed
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the places in it that one can link to."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def check(root: Path) -> tuple[list[str], set[str]]:
    """Return what is broken below a folder, and the addresses of links to elsewhere."""
    pages = {
        path: Page(path.read_text("utf-8"))
        for path in root.rglob("*.html")
        if "_static" not in path.parts
    }
    broken, external = [], set()
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                external.add(link)
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(root)}: {link}: there is no such file")
            elif place and target in pages and place not in pages[target].places:
                broken.append(f"{path.relative_to(root)}: {link}: the page has no such place")
    return sorted(set(broken)), external


def main() -> int:
    """Check the folder named, and return 1 if something is broken in it."""
    root = Path(sys.argv[1]).resolve()
    broken, external = check(root)
    if "--external" in sys.argv:
        print(*sorted(external), sep="\n")
    print(*broken, f"{len(broken)} broken links within {root.name}", sep="\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
