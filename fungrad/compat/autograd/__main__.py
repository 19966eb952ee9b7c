"""``python -m fungrad.compat.autograd program.py``."""

from fungrad.compat.autograd import install
from fungrad.compat.standing_in import run

run("fungrad.compat.autograd", install)
