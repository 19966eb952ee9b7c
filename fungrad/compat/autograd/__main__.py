"""``python -m fungrad.compat.autograd program.py``."""

from fungrad.compat.autograd import install
from fungrad.compat.standing_in import run

if __name__ == "__main__":
    run("fungrad.compat.autograd", install)
