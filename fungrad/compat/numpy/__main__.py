"""Run a program whose NumPy takes traced values: ``python -m fungrad.compat.numpy program.py``."""

from fungrad.compat.numpy import install
from fungrad.compat.standing_in import run

if __name__ == "__main__":
    run("fungrad.compat.numpy", install)
