"""``python -m fungrad``: facts for a bug report. ``python -m fungrad explain NAME``: errors."""

from __future__ import annotations

import argparse

from fungrad.reporting import print_sections, report


def main() -> int:
    """Run the command; return the status it exits with."""
    parser = argparse.ArgumentParser("python -m fungrad", description=__doc__)
    parser.set_defaults(run=lambda _: report())
    commands = parser.add_subparsers(metavar="explain")
    errors = commands.add_parser("explain", help="the usual cause of an error, and what to write")
    errors.add_argument("name", nargs="*", help="its class, words of it, or the message itself")
    errors.set_defaults(run=lambda given: print_sections(" ".join(given.name)))
    given = parser.parse_args()
    return int(given.run(given))


if __name__ == "__main__":
    raise SystemExit(main())
