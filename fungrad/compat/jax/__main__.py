"""``python -m fungrad.compat.jax program.py args``, ``-m module args`` or ``-c code``: run it with `jax` meaning fungrad."""

from fungrad.compat.jax import install
from fungrad.compat.standing_in import run

if __name__ == "__main__":
    run("fungrad.compat.jax", install)
