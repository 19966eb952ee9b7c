"""Mistakes in `fungrad/rewrite/`: forward mode, reverse mode, Taylor series, batches."""

from __future__ import annotations

from tests.mutants.row import Mutant

MUTANTS = (
    Mutant(
        "jet-quotient-bound",
        "fungrad/rewrite/taylor.py",
        "for j in range(1, k + 1)]",
        "for j in range(1, k)]",
        "the recurrence of a quotient's Taylor coefficients leaves out its last term",
        ("tests/transforms/test_jet.py",),
    ),
    Mutant(
        "jet-integral-factor",
        "fungrad/rewrite/taylor.py",
        "s if s is None or k == 1 else s / k for s in slopes",
        "s if s is None or k == 1 else s / (k - 1) for s in slopes",
        "a coefficient of order k is divided by k - 1",
        ("tests/transforms/test_jet.py",),
    ),
    Mutant(
        "jet-constant-without-dtype",
        "fungrad/rewrite/taylor.py",
        "key = (value.dtype, value.tobytes()) if scalar else id(value)",
        "key = value.tobytes() if scalar else id(value)",
        "constants of equal bits and other dtypes are one in the memo of Taylor arithmetic",
        ("tests/transforms/test_jet.py",),
    ),
    Mutant(
        "jet-effect-shared",
        "fungrad/rewrite/taylor.py",
        "if application is None or primitive.effect:",
        "if application is None:",
        "two equal equations with effects are one in Taylor arithmetic, and an effect is lost",
        ("tests/transforms/test_jet.py",),
    ),
    Mutant(
        "jet-rule-without-moving",
        "fungrad/rewrite/taylor.py",
        "key = (application.primitive, types, moving)",
        "key = (application.primitive, types, len(moving))",
        "the memo of derivative rules does not tell which operands move",
        ("tests/transforms/test_jet.py",),
    ),
    Mutant(
        "jet-factorials-of-path",
        "fungrad/rewrite/taylor.py",
        "_divided(next(given), factorials[k])",
        "_divided(next(given), factorials[k - 1])",
        "the derivatives of a path are divided by the factorial of the order before",
        ("tests/transforms/test_jet.py",),
    ),
    Mutant(
        "transpose-term-lost",
        "fungrad/rewrite/transpose.py",
        "known[v] = ct if first is None else self.plus(v, first, ct)",
        "known[v] = ct",
        "of the cotangents of a variable that is read twice the last one alone is kept",
        ("tests/transforms/test_autodiff.py", "tests/test_primitives.py"),
    ),
    Mutant(
        "at-once-cotangent-overwritten",
        "fungrad/rewrite/at_once.py",
        "total = np.add(first, second)",
        "total = np.add(first, second, np.asarray(first))",
        "a cotangent that several variables share is added to in place",
        ("tests/transforms/test_at_once.py", "tests/transforms/test_grad.py"),
    ),
    Mutant(
        "reverse-term-lost",
        "fungrad/rewrite/transpose.py",
        "return bind(add, (first, second))",
        "return first",
        "of the terms of a cotangent the first alone is kept, where the program of a gradient is made",
        ("tests/transforms/test_grad.py",),
    ),
    Mutant(
        "batch-out-axis",
        "fungrad/rewrite/batch.py",
        "results.append(move_axis(expand(size, x, b), 0, axis))",
        "results.append(move_axis(expand(size, x, b), axis, 0))",
        "the batch axis of a result is moved from where it should go to",
        ("tests/transforms/test_vmap.py",),
    ),
    Mutant(
        "linearize-known-results-shifted",
        "fungrad/rewrite/linearize.py",
        "    for number, types in enumerate(known):\n",
        "    for number, types in enumerate(known, 1):\n",
        "results that have been computed already are taken for those of the next equation",
        ("tests/transforms/test_values.py",),
    ),
)
