"""Run notebooks, and keep their outputs without what differs from run to run.

    python tools/notebooks.py [NOTEBOOK ...]

Without arguments it runs all of notebooks/. One that raises, warns, or shows where on this machine it was run is
left as it was, and named with the reason.
"""

import ast
import base64
import io
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
MOST_BYTES = 400_000
MACHINE = re.compile(
    r"(?<![\w.:/])/(?:home|root|tmp|usr|work|Users|private|var|opt)/|[A-Z]:\\|\bat 0x[0-9a-f]{6,}"
    r"|\b\d\d:\d\d:\d\d\b"
)
"""What tells one machine, or one run, from another: absolute paths, addresses, times of day."""


def cleaned(notebook):
    """Return the notebook with the metadata that all have: no times, no version of Python, no state of an editor."""
    notebook = nbformat.from_dict(notebook)
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = {name: cell.metadata[name] for name in ("tags",) if name in cell.metadata}
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = {}
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = shrunk(output.data["image/png"])
    return notebook


def text_of(output):
    """Return all of an output that is to be read."""
    data = output.get("data", {}).items()
    texts = [x for kind, x in data if isinstance(x, str) and not kind.startswith("image/png")]
    return "\n".join([output.get("text", ""), *texts, *output.get("traceback", [])])


def faults(notebook):
    """Return what is wrong with a notebook that was run, a line for each fault."""
    found, count = [], 0
    for place, cell in enumerate(notebook.cells):
        texts, at = [cell.source], f"cell {place}"
        if cell.cell_type == "code":
            count += 1
            if cell.execution_count != count:
                found.append(f"{at}: run as number {cell.execution_count}, and not as {count}")
            if not cell.outputs and shows(cell.source):
                found.append(f"{at}: it has no output")
            for output in cell.outputs:
                texts.append(text_of(output))
                if output.output_type == "error" or output.get("name") == "stderr":
                    found.append(f"{at}: {texts[-1].strip()[-300:]}")
        for text in texts:
            found += [f"{at}: {m.group()!r} tells one machine" for m in MACHINE.finditer(text)]
    if len(nbformat.writes(notebook)) > MOST_BYTES:
        found.append(f"it has more than {MOST_BYTES:,} bytes: draw with fewer dots per inch")
    return found


def shows(source):
    """Return whether code that runs at once prints, or shows a figure."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    running = [x for x in ast.parse(source).body if not isinstance(x, defined)]
    calls = [x.func for part in running for x in ast.walk(part) if isinstance(x, ast.Call)]
    return any(getattr(f, "id", getattr(f, "attr", "")) in ("print", "show") for f in calls)


def shrunk(png):
    """Return a picture, as base64, with a palette of colours: a third of the bytes."""
    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        small = io.BytesIO()
        image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(
            small, "png", optimize=True
        )
    return base64.b64encode(min(small.getvalue(), base64.b64decode(png), key=len)).decode()


def run(path):
    """Run one notebook and store it; return what is wrong with it."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name=METADATA["kernelspec"]["name"],
        record_timing=False,
        coalesce_streams=True,  # of a bar of progress, what it shows at the end
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        notebook = cleaned(client.execute())
    except CellExecutionError as error:
        lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines()
        return [*lines[:12], "...", *lines[-6:]]
    if not (found := faults(notebook)):
        nbformat.validate(notebook)
        nbformat.write(notebook, path)
    return found


def main(*names):
    """Run the notebooks named, or all; return whether one is at fault."""
    failed = False
    for path in [Path(x) for x in names] or sorted(FOLDER.glob("*.ipynb")):
        start = time.perf_counter()
        found = run(path)
        print(f"{path.name:40}{time.perf_counter() - start:6.1f} s", flush=True)
        print("".join(f"  {line}\n" for line in found), end="")
        failed |= bool(found)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
