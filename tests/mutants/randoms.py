"""Mistakes in `fungrad/random/` and `fungrad/optim/`."""

from __future__ import annotations

from tests.mutants.row import Mutant

MUTANTS = (
    Mutant(
        "split-key-reused",
        "fungrad/random/threefry.py",
        "        words = fnp.stack(fnp.broadcast_arrays(*block(key, *_counters(size))), -1)\n",
        "        words = fnp.stack(fnp.broadcast_arrays(*block(key, *_counters(1))), -1).repeat(size, 0)\n",
        "all keys that a key is split into are the same",
        ("tests/random/test_keys.py",),
    ),
    Mutant(
        "double-sided-key-reused",
        "fungrad/random/normals.py",
        "return sides * maxwell.sampler(lengths, shape, dtype, how) * scale + loc",
        "return sides * maxwell.sampler(signs, shape, dtype, how) * scale + loc",
        "lengths and signs of numbers are drawn from one key",
        (
            "fungrad/random/normals.py",
            "tests/random/test_distributions.py",
        ),
    ),
    Mutant(
        "rayleigh-scale-missing",
        "fungrad/random/continuous.py",
        "return scale * fnp.sqrt(log(unit(words, shape, dtype, how)) * dtype.type(-2))",
        "return fnp.sqrt(log(unit(words, shape, dtype, how)) * dtype.type(-2))",
        "numbers of Rayleigh's distribution have no scale",
        ("fungrad/random/continuous.py",),
    ),
    Mutant(
        "complex-normal-variance",
        "fungrad/random/normals.py",
        "return (real + dtype.type(1j) * imaginary) / dtype.type(np.sqrt(2))",
        "return real + dtype.type(1j) * imaginary",
        "complex normal numbers have variance 2",
        ("tests/random/test_distributions.py::test_complex_normal_numbers_have_variance_1",),
    ),
    Mutant(
        "randint-upper-bound",
        "fungrad/random/uniforms.py",
        "span = fnp.where(beyond & (high > low), span + whole.type(1), span)",
        "span = fnp.where(beyond & (high > low), span, span + whole.type(1))",
        "the upper bound of random integers is among them",
        ("fungrad/random/uniforms.py",),
    ),
    Mutant(
        "key-use-not-counted",
        "fungrad/random/reuse.py",
        "            known.allowed.pop()\n",
        "            known.allowed[-1]\n",
        "the use of a key is not noted, so a second one is no error",
        ("tests/random/test_reuse.py",),
    ),
    Mutant(
        "permutation-axis",
        "fungrad/random/choices.py",
        "    order = shuffled(words, fnp.arange(x.shape[axis]), 0, how)\n    return fnp.take(x, order, axis)\n",
        "    order = shuffled(words, fnp.arange(x.shape[axis]), 0, how)\n    return fnp.take(x, order, 0)\n",
        "an array is permuted along its first axis whichever is asked for",
        (
            "tests/random/test_distributions.py::test_an_array_is_permuted_along_the_axis_that_is_asked_for",
        ),
    ),
    Mutant(
        "adam-bias-correction",
        "fungrad/optim/moments.py",
        "weights = array(1 - decay**count)",
        "weights = array(1 - decay**(count + 1))",
        "bias correction counts a step too many",
        (
            "fungrad/optim/moments.py",
            "tests/optim/test_optimizers.py",
        ),
    ),
    Mutant(
        "learning-rate-sign",
        "fungrad/optim/scaling.py",
        "sign: Any = -1 if flip_sign else 1",
        "sign: Any = 1 if flip_sign else -1",
        "optimizers climb",
        (
            "fungrad/optim/scaling.py",
            "tests/optim/test_optimizers.py",
        ),
    ),
    Mutant(
        "momentum-sign",
        "fungrad/optim/accumulation.py",
        "        return g + decay * t\n",
        "        return g - decay * t\n",
        "momentum has the wrong sign",
        (
            "fungrad/optim/accumulation.py",
            "tests/optim/test_optimizers.py",
        ),
    ),
    Mutant(
        "amsgrad-minimum",
        "fungrad/optim/adaptive.py",
        "nu_max = tree_map(fnp.maximum, nu_hat, state.nu_max)",
        "nu_max = tree_map(fnp.minimum, nu_hat, state.nu_max)",
        "AMSGrad keeps the smallest mean of squares",
        (
            "fungrad/optim/adaptive.py",
            "tests/optim/test_optimizers.py",
        ),
    ),
    Mutant(
        "moment-without-abs",
        "fungrad/optim/moments.py",
        "return fnp.real(fnp.conj(x) * x) if x.dtype.kind",
        "return fnp.real(x * x) if x.dtype.kind",
        "the square of the absolute value of a complex gradient lacks a conjugate",
        (
            "tests/optim/test_optimizers.py::test_complex_gradients_are_scaled_by_their_absolute_values",
        ),
    ),
    Mutant(
        "clip-norm-inverted",
        "fungrad/optim/clipping.py",
        "        fine = size < max_norm\n",
        "        fine = size > max_norm\n",
        "updates are scaled to the bound exactly if they are within it",
        (
            "fungrad/optim/clipping.py",
            "tests/optim/test_optimizers.py",
        ),
    ),
    Mutant(
        "cosine-schedule-period",
        "fungrad/optim/single_schedules.py",
        "left = 0.5 * (1 + fnp.cos(np.pi * part))",
        "left = 0.5 * (1 + fnp.cos(2 * np.pi * part))",
        "the cosine schedule comes back to where it began",
        ("fungrad/optim/single_schedules.py", "tests/optim/test_optimizers.py"),
    ),
)
