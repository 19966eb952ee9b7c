"""Enzymes, reactions, genes and epidemics, with much of Python's own library."""

import abc
import collections
import functools
import math
import operator
import re
import textwrap

import numpy as np
from numpy import exp

from tests.reading.programs.program import Program


class Enzyme(abc.ABC):
    registry = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Enzyme.registry[cls.__name__.lower()] = cls

    def __init__(self, vmax, km):
        self.vmax, self.km = vmax, km

    @abc.abstractmethod
    def rate(self, s, i=0.0): ...

    def __call__(self, s, **kw):
        return self.rate(s, **kw)


class Competitive(Enzyme):
    def rate(self, s, i=0.0):
        return self.vmax * s / (self.km * (1 + i / 0.5) + s)


class Uncompetitive(Enzyme):
    def rate(self, s, i=0.0):
        return self.vmax * s / (self.km + s * (1 + i / 0.5))


class Hill(Competitive):
    def __init__(self, vmax, km, n=2):
        super().__init__(vmax, km)
        self.n = n

    def rate(self, s, i=0.0):
        base = super().rate(s, i=i)
        return base * s**self.n / (1 + s**self.n)


def enzyme_zoo(p):
    total = 0.0
    for _name, cls in sorted(Enzyme.registry.items()):
        e = cls(p[0], km=p[1])
        total += e(1.5, i=0.2) + e(0.1)
    return total


def reaction_parser(k):
    """Rates of a small network, parsed from text."""
    text = textwrap.dedent(
        """
        A + B -> C ; 1.0
        C -> A + B ; 0.5
        2 A -> D ; 0.3
        """
    )
    reactions = []
    for line in filter(None, map(str.strip, text.splitlines())):
        lhs, rest = line.split("->")
        rhs, rate = rest.split(";")
        side = lambda s: {
            m.group(2): int(m.group(1) or 1) for m in re.finditer(r"(\d*)\s*([A-Z])", s)
        }
        reactions.append((side(lhs), side(rhs), float(rate)))
    conc = collections.OrderedDict(A=1.0, B=0.8, C=0.0, D=0.0)
    dt = 0.02
    for _ in range(25):
        change = dict.fromkeys(conc, 0.0)
        for (left, right, rate), factor in zip(reactions, k):
            speed = (
                rate
                * factor
                * functools.reduce(operator.mul, (conc[s] ** n for s, n in left.items()))
            )
            for s, n in left.items():
                change[s] -= n * speed
            for s, n in right.items():
                change[s] += n * speed
        for s in conc:
            conc[s] += dt * change[s]
    return conc["C"] + 2 * conc["D"]


def titration_curve(pka):
    """Equivalence point: volumes at which the slope of pH is largest, by a parabola through three points."""
    ka, c = 10 ** (-pka), 0.1
    vols = np.linspace(1, 60, 30)
    ph = []
    for v in vols:
        ca, cb = c * 50 / (50 + v), c * v / (50 + v)
        h = 1e-7
        for _ in range(60):
            f = h + cb - 1e-14 / h - ca * ka / (ka + h)
            df = 1 + 1e-14 / h**2 + ca * ka / (ka + h) ** 2
            new = h - f / df
            if new <= 0:
                new = h / 2
            if abs(new - h) < 1e-15 * h:
                break
            h = new
        ph.append(-np.log10(h))
    return float(np.mean(ph)) + ph[3]


def codon_adaptation(w):
    seq = "ATGGCTGCAGCGTAA"
    codons = [seq[i : i + 3] for i in range(0, len(seq), 3)]
    table = {"GCT": w[0], "GCA": w[1], "GCG": w[2]}
    used = [table[c] for c in codons if c in table]
    top = max(used)
    return math.exp(sum(math.log(u / top) for u in used) / len(used))


def phylo_likelihood(t):
    """Felsenstein's pruning by recursion over nested tuples."""
    tree = ((("A", 0), ("C", 1)), (("A", 2), ("G", 3)))

    def transition(x):
        e = exp(-4 * x / 3)
        return np.full((4, 4), 0.25 * (1 - e)) + np.eye(4) * e

    def prune(node):
        if isinstance(node[0], str):
            v = np.zeros(4)
            v["ACGT".index(node[0])] = 1.0
            return transition(t[node[1]]) @ v
        left, right = map(prune, node)
        return transition(0.1) @ (left * right)

    return math.log(0.25 * prune(tree).sum())


def sir_events(beta):
    """An epidemic whose contacts fall once a threshold has been passed; a lockdown that ends."""
    s, i, r = 0.99, 0.01, 0.0
    lock = False
    peak = 0.0
    days = []
    for day in range(80):
        if not lock and i > 0.1:
            lock = True
            days.append(day)
        elif lock and i < 0.05:
            lock = False
        b = beta * (0.4 if lock else 1.0)
        new = b * s * i
        s, i, r = s - new, i + new - 0.1 * i, r + 0.1 * i
        peak = max(peak, i)
    return peak + r + 0.01 * len(days)


PROGRAMS = (
    Program(enzyme_zoo, [1.0, 0.3], ([2.0, 0.8], [0.5, 2.0], [1.3, 1.1])),
    Program(reaction_parser, [1.0, 1.0, 1.0], ([2.0, 0.3, 0.5], [0.5, 3.0, 1.5], [1.2, 0.1, 4.0])),
    Program(titration_curve, 4.7, (3.2, 6.1, 9.0)),
    Program(codon_adaptation, [0.3, 0.9, 0.5], ([1.0, 0.2, 0.7], [0.4, 0.5, 0.6], [0.9, 0.8, 0.1])),
    Program(
        phylo_likelihood,
        [0.1, 0.2, 0.3, 0.15],
        ([0.5, 0.4, 0.1, 0.2], [0.05, 0.9, 0.3, 0.3], [1.0, 0.2, 0.2, 0.7]),
    ),
    Program(sir_events, 0.35, (0.2, 0.5, 0.9)),
)
