"""Which names of JAX are there, with `jax` meaning fungrad: ``python -m tests.compat.jax_walk`` writes the table in the docs anew."""

import importlib
import inspect
import json
import sys
import warnings
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/coming_from_jax.md"
START, END = "<!-- names of JAX, by tests/compat/jax_walk.py -->\n", "<!-- end of names -->"
INERT_HOMES = ("fungrad.compat.jax.inert",)


def parameters(function):
    """Return names and kinds, which is what calls are written by."""
    return [(p.name, p.kind.name) for p in inspect.signature(function).parameters.values()]


def differs(value, line):
    """Whether a function is called in another way than JAX's."""
    namespace = {"inf": float("inf")}
    exec(f"def f({line}): pass", namespace)
    try:
        return parameters(value) != parameters(namespace["f"])
    except (TypeError, ValueError):
        return True


def walk():
    """Return, by module, what is real, inert and absent (with reasons), and which signatures differ."""
    from fungrad.compat.jax import ABSENT, install
    from fungrad.compat.jax.inert import inert_names
    from fungrad.compat.jax.names import modules, names_of
    from fungrad.compat.standing_in import lacks

    install()
    found = {}
    for name in modules():
        kinds = found[name] = {"real": [], "inert": [], "absent": {}, "differs": []}
        try:
            module = importlib.import_module(name)
        except ImportError:
            module = None
        for attribute, line in names_of(name).items():
            try:
                value = getattr(module, attribute)
            except AttributeError:
                said = lacks(f"{name}.{attribute}", ABSENT)
                kinds["absent"][attribute] = said.partition(": ")[2]
                continue
            home = getattr(value, "__module__", None)
            inert = attribute in inert_names(name) or home in INERT_HOMES
            kinds["inert" if inert else "real"].append(attribute)
            if line[:1] != ":" and differs(value, line):
                kinds["differs"].append(attribute)
    return found


def grouped(names):
    """Return names as the table shows them: primitives are counted."""
    shown = [f"`{name}`" for name in names if not name.endswith("_p")]
    count = len(names) - len(shown)
    return ", ".join(shown + ([f"{count} primitives"] if count else []))


def table(found):
    """Return the table of the docs."""
    lines = ["| module | real | inert | absent |", "|---|---|---|---|"]
    for name, kinds in found.items():
        if not name.startswith("jax.scipy.stats."):
            real, inert, absent = len(kinds["real"]), grouped(kinds["inert"]), kinds["absent"]
            every = not real and not kinds["inert"]
            gone = f"all {len(absent)}" if every else grouped(absent)
            lines.append(f"| `{name}` | {real or ''} | {inert} | {gone} |")
    totals = [sum(len(k[kind]) for k in found.values()) for kind in ("real", "inert", "absent")]
    count = "{} names of {} modules are real, {} inert and {} absent.".format(
        totals[0], len(found), *totals[1:]
    )
    return "\n".join([count, "", *lines, ""])


def page(text, found):
    """Return the text of the page with the table as it is now."""
    before, _, rest = text.partition(START)
    return before + START + "\n" + table(found) + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = walk()
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(found))
    else:
        PAGE.write_text(page(PAGE.read_text("utf-8"), found), "utf-8")
