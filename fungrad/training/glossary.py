"""Texts that the docstrings of `fungrad.training` share and leave out."""

from __future__ import annotations

from fungrad.extend.packages import Glossary

GLOSSARY = Glossary(
    {"path": "The name of the file.", "key": "A key of `fungrad.random`."},
    imports={
        "np": "import numpy as np",
        "fg": "import fungrad as fg",
        "lax": "from fungrad import lax",
        "optim": "from fungrad import optim",
        "random": "from fungrad import random",
        "training": "from fungrad import training",
    },
)
public = GLOSSARY.public
