"""Run a program with `jax` meaning fungrad: ``python -m fungrad.compat.jax program.py args``.

Or ``-m module args``, or ``-c code``.
"""

from fungrad.compat.jax import install
from fungrad.compat.standing_in import run

if __name__ == "__main__":
    run("fungrad.compat.jax", install)
