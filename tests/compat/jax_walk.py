"""Which names of JAX are there, with `jax` meaning fungrad: ``python -m tests.compat.jax_walk`` writes the table in the docs anew."""

import ast
import importlib
import inspect
import json
import sys
import warnings
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/coming_from_jax.md"
PACKAGE = Path(__file__).parents[2] / "fungrad/compat/jax"
START, END = "<!-- names of JAX, by tests/compat/jax_walk.py -->\n", "<!-- end of names -->"
SIGNATURES = "<!-- signatures, by tests/compat/jax_walk.py -->\n", "<!-- end of signatures -->"
DIFFERENT = {
    "jax.api_util.debug_info": "takes any options",
    "jax.debug.breakpoint": "`backend` is a function; no `token`",
    "jax.debug.print": "no `_use_logging`",
    "jax.dtypes.issubdtype": "the arguments are `arg1` and `arg2`, as those of `jax.numpy.issubdtype`",
    "jax.experimental.mesh_utils.create_device_mesh": "takes any options",
    "jax.extend.core.find_top_trace": "the argument is `operands`, and may be left out",
    "jax.extend.core.gensym": "takes a suffix, too",
    "jax.extend.source_info_util.current_name_stack": "takes a name, too",
    "jax.interpreters.ad.jvp": "no `instantiate`, no `transform_stack`",
    "jax.interpreters.ad.linearize": "that of `jax.linearize`",
    "jax.interpreters.mlir.register_lowering": "takes any options",
    "jax.interpreters.partial_eval.trace_to_jaxpr_dynamic": "takes any options",
    "jax.interpreters.xla.apply_primitive": "the operands are `*operands`",
    "jax.numpy.result_type": "takes `return_weak_type_flag`, too",
    "jax.numpy.set_printoptions": "NumPy's own: its arguments are named",
    "jax.profiler.annotate_function": "takes any options",
}
"""Functions whose parameters are not named as JAX's, and how: they take more, or less of what nothing here would read."""
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
        kinds = found[name] = {"real": [], "inert": [], "absent": {}, "differs": [], "refused": {}}
        kinds["functions"] = []
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
            if line == ":class" and not inert and not isinstance(value, type):
                kinds["functions"].append(attribute)
            if refused := getattr(value, "fg_refused", None):
                kinds["refused"][attribute] = list(refused)
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


def refused_in_the_source():
    """Return what functions that are written out refuse: the pairs (function, parameter) of calls of `refuse`."""
    found = set()
    for file in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "refuse":
                names = [
                    x.value for a in node.args for x in ast.walk(a) if isinstance(x, ast.Constant)
                ]
                found |= {(names[0], n) for n in names[1:] if isinstance(n, str)}
    return found


def refusals(found):
    """Return all pairs (function, parameter) that are refused outright; `out` is by all functions that have it."""
    adapted = {(f, p) for k in found.values() for f, names in k["refused"].items() for p in names}
    return {(f, p) for f, p in adapted | refused_in_the_source() if p != "out"}


def signatures():
    """Return the part of the docs about arguments."""
    from fungrad.compat.jax.arguments import INERT_OF, REFUSED

    lines = ["| function | arguments that are refused | why |", "|---|---|---|"]
    for function, reasons in sorted(REFUSED.items()):
        lines += [f"| `{function}` | `{p}` | {why} |" for p, why in reasons.items()]
    lines += ["", "| function | how its signature differs |", "|---|---|"]
    lines += [f"| `{name}` | {how} |" for name, how in DIFFERENT.items()]
    inert = ", ".join(
        f"`{p}` of `{f}`" for f, names in sorted(INERT_OF.items()) for p in names.split()
    )
    return "\n".join([*lines, "", f"Read, and of no effect: {inert}.", ""])


def page(text, found):
    """Return the text of the page with the tables as they are now."""
    for (start, end), part in (((START, END), table(found)), (SIGNATURES, signatures())):
        before, _, rest = text.partition(start)
        text = before + start + "\n" + part + "\n" + end + rest.partition(end)[2]
    return text


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = walk()
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(found))
    else:
        PAGE.write_text(page(PAGE.read_text("utf-8"), found), "utf-8")
