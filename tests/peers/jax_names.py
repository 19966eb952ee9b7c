"""The public names of JAX, with the signatures of its functions: ``python -m tests.peers.jax_names`` writes them where compat reads them.

Run it with the JAX that `fungrad.compat.jax` is to follow.
"""

import importlib
import inspect
import pkgutil
import sys
import warnings
from pathlib import Path

FILE = Path(__file__).parents[2] / "fungrad/compat/jax/names.txt"
LEFT_OUT = (
    *("jax._src", "jax.tools", "jax.jaxlib", "jax.jax_plugins", "jax.lib", "jax.export", "jax.ffi"),
    *("jax.extend.mlir", "jax.extend.ifrt", "jax.extend.pallas", "jax.experimental"),
    *("jax.collect_profile", "jax.cloud_tpu_init"),
)
KEPT = (
    "",
    *(".checkify", ".io_callback", ".jet", ".ode", ".custom_partitioning", ".mesh_utils"),
    *(".pjit", ".multihost_utils", ".rnn", ".layout", ".random"),
)
"""Of jax.experimental, what is listed."""
HOMES = ("jax", "jaxlib", "numpy", "ml_dtypes")
"""Where things are from that are names of JAX's; others are what a file of it imports."""
HELPERS = ("jax._src.util", "jax._src.tree_util", "jaxlib.utils", "jaxlib._jax.pytree")
"""What files that are no list of public names import besides."""


def modules() -> list[str]:
    """Return the names of JAX's public modules."""
    import jax

    found = ["jax"]
    for module in pkgutil.walk_packages(jax.__path__, "jax.", onerror=lambda _: None):
        name = module.name
        experimental = name.startswith("jax.experimental") and name.removeprefix(
            "jax.experimental"
        ) in (KEPT)
        if experimental or not (name.startswith(LEFT_OUT) or "._" in name):
            found.append(name)
    return sorted(found)


def described(value: object, name: str) -> str:
    """Return the line of a name: with its signature, if that is known."""
    if isinstance(value, type):
        return f"{name}:class"
    if not callable(value):
        return f"{name}:value"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{name}:value"
    parts, kinds = [], []
    for p in signature.parameters.values():
        literal = p.default is None or type(p.default) in (bool, int, float, str, tuple)
        if kinds and kinds[-1] is p.POSITIONAL_ONLY is not p.kind:
            parts.append("/")
        if p.kind is p.KEYWORD_ONLY and not {p.KEYWORD_ONLY, p.VAR_POSITIONAL} & {*kinds}:
            parts.append("*")
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else f"={p.default!r}" if literal else "=..."
        parts.append(f"{stars}{p.name}{default}")
        kinds.append(p.kind)
    if kinds and kinds[-1] is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return f"{name}({', '.join(parts)})"


def lines() -> list[str]:
    """Return the lines of the file."""
    import jax

    result = [f"JAX {jax.__version__}"]
    for module_name in modules():
        module = importlib.import_module(module_name)
        names = []
        for name in sorted(dir(module)):
            value = getattr(module, name)
            home = str(getattr(value, "__module__", None) or "jax")
            helper = home in HELPERS and module_name.startswith(("jax.ex", "jax.interp"))
            is_ours = home.partition(".")[0] in HOMES and not (inspect.ismodule(value) or helper)
            if name[0] != "_" and is_ours:
                names.append(described(value, name))
        if names:
            result += [f"[{module_name}]", *names]
    return result


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    text = "\n".join(lines()) + "\n"
    if sys.argv[1:] == ["--print"]:
        print(text, end="")
    else:
        FILE.write_text(text, "utf-8")
