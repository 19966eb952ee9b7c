"""Report which names of JAX packages use, and which of these are absent where fungrad stands in.

    python -m pip download --no-deps -d FOLDER flowjax quadax ...
    python tools/jax_names.py FOLDER [--against PYTHON]

Reads the wheels and archives in a folder, without running what is in them. A name is what a module imports from `jax`, or an
attribute that it takes of something so imported. PYTHON is one that has JAX itself: names that it lacks, too, are left out.
"""

import ast
import collections
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

REACH = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
import jax

def lacks(name):
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
            break
        except Exception:
            continue
    for part in parts[n:]:
        if not isinstance(found, type(sys)):
            return False  # attributes of objects are not asked for
        try:
            found = getattr(found, part)
        except Exception:
            return True
    return False

json.dump([name for name in json.load(sys.stdin) if lacks(name)], sys.stdout)
"""


def _is_jax(module):
    return (module or "").split(".")[0] == "jax"


def names(text):
    """Return the names of JAX that the text of a module uses."""
    tree = ast.parse(text)
    used, meaning = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_jax(alias.name):
                    used.add(alias.name)
                    meaning[alias.asname or "jax"] = alias.name if alias.asname else "jax"
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_jax(node.module):
            for alias in node.names:
                used.add(f"{node.module}.{alias.name}")
                meaning[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        parts = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id in meaning:
            used.add(".".join([meaning[node.id], *parts]))
    return used


def texts(archive):
    """Return the modules in a wheel or an archive of sources."""
    if tarfile.is_tarfile(archive):
        with tarfile.open(archive) as opened:
            members = [m for m in opened if m.name.endswith(".py")]
            return [opened.extractfile(m).read() for m in members]
    with zipfile.ZipFile(archive) as opened:
        return [opened.read(name) for name in opened.namelist() if name.endswith(".py")]


def uses(folder):
    """Return for each name the packages in a folder that use it."""
    found = collections.defaultdict(set)
    for archive in sorted(Path(folder).iterdir()):
        for text in texts(archive):
            try:
                used = names(text)
            except (SyntaxError, ValueError):  # templates, and sources of another Python
                continue
            for name in used:
                found[name].add(archive.name.split("-")[0])
    return found


def absent(python, wanted):
    """Return the names that are absent by a command of Python."""
    done = subprocess.run(
        [*python, "-c", REACH], input=json.dumps(sorted(wanted)), capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return set(json.loads(done.stdout))


def main(folder, *options):
    """Print the report."""
    found = uses(folder)
    wanted = set(found)
    if options[:1] == ("--against",):
        wanted -= absent([options[1]], wanted)
    lacking = absent([sys.executable, "-m", "fungrad.compat.jax"], wanted)
    packages = {package for name in wanted for package in found[name]}
    print(f"{len(packages)} packages use {len(wanted)} names, of which {len(lacking)} are absent:")
    for name in sorted(lacking, key=lambda name: (-len(found[name]), name)):
        print(f"  {name}: {', '.join(sorted(found[name]))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
