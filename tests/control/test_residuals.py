"""`print_saved_residuals` says what is kept for the backward pass, and why."""

import re

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.ad_checkpoint import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    print_saved_residuals,
    saved_residuals,
)

X = np.array([0.4, -0.3, 0.7])
LARGE = np.arange(9.0).reshape(3, 3)


def loss(params, x):
    h = fnp.sin(params["w"] @ x)
    y = checkpoint_name(fnp.exp(h), "y")
    return fnp.sum(y * y)


def chosen(x):
    return fnp.sin(x[0]) * x if x[0] > 0 else x


FILE = r"test_residuals\.py:\d+ \(in "
ANY = r".*"


def by_name(x, *, scale):
    return x * scale


def of_many(*arrays):
    return arrays[0] * arrays[1]


@pytest.mark.parametrize(
    ("f", "args", "kwargs", "expected"),
    [
        (
            loss,
            ({"w": LARGE}, X),
            {},
            [
                r"float64\[3\] output of cos, from FILEloss, derivative\): h = fnp.sin\(params\[\"w\"\] @ x\)",
                r"float64\[3\] named 'y', from FILEloss\): y = checkpoint_name\(fnp.exp\(h\), \"y\"\)",
                r"float64\[3\] output of exp, from FILEloss\): ANY",
                r"float64\[3,3\] from the argument params\['w'\]",
                r"float64\[3\] from the argument x",
            ],
        ),
        (
            checkpoint(loss),
            ({"w": LARGE}, X),
            {},
            [r"float64\[3,3\] from the argument params\['w'\]", r"float64\[3\] from the argument x"],
        ),
        (
            checkpoint(loss, policy=checkpoint_policies.save_only_these_names("y")),
            ({"w": LARGE}, X),
            {},
            [
                r"float64\[3,3\] from the argument params\['w'\]",
                r"float64\[3\] from the argument x",
                r"float64\[3\] named 'y', from FILEloss\): ANY",
            ],
        ),
        (lambda x: x + 1, (X,), {}, []),
        (lambda x: x * 3, (X,), {}, [r"float64\[3\] from a constant"]),
        (lambda x: LARGE @ x, (X,), {}, [r"float64\[3,3\] from what the function closes over"]),
        (
            by_name,
            (X,),
            {"scale": 2 * X},
            [r"float64\[3\] from the argument x", r"float64\[3\] from the argument scale"],
        ),
        (
            lambda x, y: x * y,
            (X,),
            {"y": 2 * X},
            [r"float64\[3\] from the argument x", r"float64\[3\] from the argument y"],
        ),
        (
            of_many,
            (X, X),
            {},
            [
                r"float64\[3\] from the argument arrays\[0\]",
                r"float64\[3\] from the argument arrays\[1\]",
            ],
        ),
        (fnp.square, (X,), {}, [r"float64\[3\] output of multiply, from ANY"]),
        (
            chosen,
            (X,),
            {},
            [
                r"float64\[3\] from the argument x",
                r"float64\[3\] output of broadcast, from FILEchosen\): ANY",
                r"float64\[\] output of cos, from FILEchosen, derivative\): ANY",
            ],
        ),
        (
            fg.jit(lambda x: fnp.sin(x)),
            (X,),
            {},
            [r"float64\[3\] output of cos, from FILE<lambda>, derivative\): ANY"],
        ),
        (
            lambda x: lax.scan(lambda c, r: (fnp.sin(c) * r, None), x, LARGE)[0],
            (X,),
            {},
            [
                r"float64\[3,3\] output of scan, from FILE<lambda>, derivative\): ANY",
                r"float64\[3,3\] from what the function closes over",
            ],
        ),
    ],
    ids=[
        *("network", "checkpoint", "policy", "linear", "constant", "closure", "keyword", "by name"),
        *("variadic", "of NumPy", "values", "jit", "scan"),
    ],
)  # fmt: skip
def test_what_is_kept_and_why(f, args, kwargs, expected):
    found = [f"{type_} {source}" for type_, source in saved_residuals(f, *args, **kwargs)]
    unmatched = list(found)
    for pattern in expected:
        whole = pattern.replace("FILE", FILE).replace("ANY", ANY)
        match = next((line for line in unmatched if re.fullmatch(whole, line)), None)
        assert match is not None, (pattern, found)
        unmatched.remove(match)
    assert not unmatched


def test_report(capsys):
    print_saved_residuals(lambda x: x * x, X)
    print_saved_residuals(lambda w, x: fnp.sum(fnp.sin(w @ x)), LARGE, X)
    print_saved_residuals(lambda x: x + 1, X)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("kept")] == [
        "kept: 1 array of 24 bytes, of which 24 bytes are arguments and what the function closes over",
        "kept: 3 arrays of 120 bytes, of which 96 bytes are arguments and what the function closes over",
        "kept: 0 arrays of 0 bytes, of which 0 bytes are arguments and what the function closes over",
    ]


def test_each_array_counts_once():
    def f(x):
        y = fnp.exp(x)
        return y * fnp.sin(y) * y

    sources = [source for _, source in saved_residuals(f, X)]
    assert len(sources) == len(set(sources))


def test_residuals_inside_of_nested_checkpoints_are_found():
    policy = checkpoint_policies.save_only_these_names("inner")

    def inner(x):
        return fnp.sin(checkpoint_name(fnp.exp(x), "inner"))

    f = checkpoint(
        lambda x: checkpoint(inner, policy=policy)(x) * 2, policy=lambda p, *_, **__: True
    )
    found = [source for _, source in saved_residuals(f, X)]
    assert any(source.startswith("named 'inner', from test_residuals.py") for source in found)


@pytest.mark.parametrize("function", [saved_residuals, print_saved_residuals])
def test_errors(function):
    with pytest.raises(TypeError, match=f"{function.__name__} takes a function, not 3"):
        function(3)
    with pytest.raises(TypeError, match=r"print_saved_residuals\(loss\): argument 1: .*'x'"):
        function(loss, {"w": X}, "x")
