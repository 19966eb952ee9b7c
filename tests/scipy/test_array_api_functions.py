"""SciPy's own functions on tracers, through the array API standard (SCIPY_ARRAY_API=1).

SciPy reads that variable when it is imported, so the functions run in a child process: this file as a program.
It prints for each function the directional derivative that `grad` gives, and that of differences, which are
computed by the same function on plain arrays.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

ROOT = Path(__file__).parent.parent.parent


def uniform(*shape):
    return np.random.default_rng(0).uniform(0.3, 0.9, shape)


# Functions of one array, and of two that depend on one, by name.

OF_ONE = {
    "special": """entr erf erfc erfcx erfinv exp1 expi expit exp2 exp10 expm1 exprel gamma gammaln
        loggamma rgamma digamma psi zeta i0 i0e i1 i1e j0 j1 y0 y1 k0 k1 ellipk ellipe sinc cbrt cosm1
        log1p log_expit log_ndtr logit ndtr ndtri logsumexp softmax log_softmax softplus""",
    "stats": """gmean hmean skew kurtosis zscore gzscore variation sem iqr entropy kstat
        kstatvar lmoment tmean tvar tstd tsem tmin tmax circmean circvar circstd gstd describe
        median_abs_deviation mode""",
    "fft": "fft ifft rfft irfft fft2 ifft2 fftn rfftn hfft ihfft fftshift",
    "integrate": "trapezoid cumulative_trapezoid cumulative_simpson",
    "cluster.vq": "whiten",
}
OF_TWO = {
    "special": """beta betaln binom boxcox chdtr chdtrc gammainc gammaincc kl_div kv poch powm1
        pseudo_huber rel_entr stdtr xlogy xlog1py""",
    "stats": "alexandergovern bartlett levene pearsonr ttest_ind ttest_rel",
    "signal": "fftconvolve oaconvolve",
}
# Functions of one array `x`, written out. `s` is SciPy; short samples have 4 x 3 elements.
WRITTEN_OUT = {
    "differentiate.derivative": lambda s, x: s.differentiate.derivative(fnp.sin, x[0]).df,
    "differentiate.hessian": lambda s, x: s.differentiate.hessian(s.optimize.rosen, x[0]).ddf,
    "differentiate.jacobian": lambda s, x: s.differentiate.jacobian(fnp.sin, x[0]).df,
    "fft.fht": lambda s, x: s.fft.fht(x, 0.1, 0.5),
    "integrate.cubature": lambda s, x: (
        s.integrate.cubature(
            lambda t: fnp.exp(-t[..., 0] * x[0, 0]), fnp.asarray([0.0]), fnp.asarray([1.0])
        ).estimate
    ),
    "integrate.fixed_quad": lambda s, x: s.integrate.fixed_quad(
        lambda t: fnp.sin(t * x[0, 0]), 0, 1
    )[0],
    "integrate.quad_vec": lambda s, x: s.integrate.quad_vec(lambda t: fnp.exp(-t * x), 0, 1)[0],
    "integrate.romb": lambda s, x: s.integrate.romb(x[:, :2].reshape(8)[:5], dx=0.5),
    "integrate.tanhsinh": lambda s, x: (
        s.integrate.tanhsinh(
            lambda t, a: fnp.exp(-a * t), fnp.asarray(0.0), fnp.asarray(1.0), args=(x[0],)
        ).integral
    ),
    "integrate.trapezoid, of x": lambda s, x: s.integrate.trapezoid(x, fnp.cumsum(x, axis=-1)),
    "linalg.block_diag": lambda s, x: s.linalg.block_diag(x, x),
    "optimize.elementwise.find_minimum": lambda s, x: (
        s.optimize.elementwise.find_minimum(
            lambda t, a: (t - a) ** 2,
            (fnp.asarray(0.0), fnp.asarray(0.5), fnp.asarray(2.0)),
            args=(x[0],),
        ).x
    ),
    "optimize.elementwise.find_root": lambda s, x: (
        s.optimize.elementwise.find_root(
            lambda t, a: t * t - a, (fnp.asarray(0.0), fnp.asarray(2.0)), args=(x[0],)
        ).x
    ),
    "optimize.rosen": lambda s, x: s.optimize.rosen(x),
    "optimize.rosen_der": lambda s, x: s.optimize.rosen_der(x[0]),
    "optimize.rosen_hess": lambda s, x: s.optimize.rosen_hess(x[0]),
    "optimize.rosen_hess_prod": lambda s, x: s.optimize.rosen_hess_prod(x[0], x[1]),
    "interpolate.RBFInterpolator": lambda s, x: s.interpolate.RBFInterpolator(
        fnp.arange(4.0)[:, None], x[:, 0]
    )(fnp.asarray([[0.5]])),
    "signal.correlate": lambda s, x: s.signal.correlate(x[:, 0], x[:2, 1], method="fft"),
    "signal.envelope": lambda s, x: s.signal.envelope(x.reshape(12)),
    "signal.freqz": lambda s, x: s.signal.freqz(x[0], worN=8)[1],
    "signal.gausspulse": lambda s, x: s.signal.gausspulse(x, fc=2),
    "signal.hilbert": lambda s, x: s.signal.hilbert(x[:, 0]),
    "signal.resample": lambda s, x: s.signal.resample(x[:, 0], 6),
    "signal.sweep_poly": lambda s, x: s.signal.sweep_poly(x, fnp.asarray([1.0, 2.0])),
    "signal.vectorstrength": lambda s, x: s.signal.vectorstrength(x[0], 2.0)[0],
    "special.betainc": lambda s, x: s.special.betainc(x, x + 1, x),
    "spatial.transform.Rotation.apply": lambda s, x: rotation(s).from_rotvec(x[0]).apply(x[1]),
    "spatial.transform.Rotation.from_euler": lambda s, x: (
        rotation(s).from_euler("xyz", x[0]).as_quat()
    ),
    "spatial.transform.Rotation.from_matrix": lambda s, x: (
        rotation(s).from_matrix(x[:3] + 2 * fnp.eye(3)).as_rotvec()
    ),
    "spatial.transform.Rotation.from_quat": lambda s, x: rotation(s).from_quat(x[:, 0]).as_matrix(),
    "spatial.transform.Rotation.from_rotvec": lambda s, x: (
        rotation(s).from_rotvec(x[0]).as_matrix()
    ),
    "spatial.transform.RigidTransform": lambda s, x: (
        s.spatial.transform.RigidTransform.from_translation(x[0]).as_matrix()
    ),
    "stats.boxcox_llf": lambda s, x: s.stats.boxcox_llf(1.5, x),
    "stats.combine_pvalues": lambda s, x: s.stats.combine_pvalues(x[0]),
    "stats.differential_entropy": lambda s, x: s.stats.differential_entropy(x.reshape(12)),
    # Without values SciPy takes an array for one of a lazy library, and ignores the default of `axis`.
    "stats.f_oneway": lambda s, x: s.stats.f_oneway(x.T, fnp.exp(x).T, axis=-1),
    "stats.jarque_bera": lambda s, x: s.stats.jarque_bera(x.reshape(12)),
    "stats.moment": lambda s, x: s.stats.moment(x, 3),
    "stats.pmean": lambda s, x: s.stats.pmean(x, 2.5),
    "stats.quantile": lambda s, x: s.stats.quantile(x, 0.3),
    "stats.sigmaclip": lambda s, x: s.stats.sigmaclip(x)[0],
    "stats.trim_mean": lambda s, x: s.stats.trim_mean(x, 0.25),
    "stats.ttest_1samp": lambda s, x: s.stats.ttest_1samp(x, 0.5),
    "stats.yeojohnson_llf": lambda s, x: s.stats.yeojohnson_llf(1.5, x),
    "stats.zmap": lambda s, x: s.stats.zmap(x, x**2),
}
# Those that only some versions of SciPy have written against the standard; the others refuse.
LATELY = {
    "integrate.simpson": lambda s, x: s.integrate.simpson(x),
    "stats.linregress": lambda s, x: s.stats.linregress(x[0], x[1]).slope,
}

# Those whose Python looks at values, so that `jit` cannot trace them.
NEED_VALUES = """
    differentiate.derivative differentiate.hessian differentiate.jacobian integrate.cubature
    integrate.quad_vec integrate.tanhsinh optimize.elementwise.find_minimum
    optimize.elementwise.find_root signal.correlate spatial.transform.Rotation.from_matrix stats.mode
    stats.sigmaclip stats.tsem stats.tstd stats.tvar stats.yeojohnson_llf
"""
# Those that look at values in some versions of SciPy.
MAY_NEED_VALUES = """
    stats.circmean stats.circstd stats.circvar stats.combine_pvalues stats.differential_entropy
    stats.hmean stats.iqr stats.jarque_bera stats.kstat stats.kstatvar stats.levene
    stats.linregress stats.median_abs_deviation stats.pmean stats.quantile stats.tmean
"""

# What cannot be differentiated through SciPy's own code, and why. docs/dtypes.md has the summary.

COMPILED = "SciPy hands the array to compiled code, which reads its memory"
CONVERTED = "SciPy makes a NumPy array of it; the function is not written against the standard"
CANNOT = {
    "cluster.vq.vq": (COMPILED, lambda s, x: s.cluster.vq.vq(x, x[:2] * 1.1)[1]),
    "fft.dct": (COMPILED, lambda s, x: s.fft.dct(x)),
    "interpolate.CubicSpline": (
        COMPILED,
        lambda s, x: s.interpolate.CubicSpline(fnp.arange(4.0), x)(0.5),
    ),
    "linalg.det": (COMPILED, lambda s, x: s.linalg.det(x[:3])),
    "linalg.expm": (COMPILED, lambda s, x: s.linalg.expm(x[:3])),
    "linalg.solve": (COMPILED, lambda s, x: s.linalg.solve(x[:3], x[3])),
    "ndimage.gaussian_filter": (COMPILED, lambda s, x: s.ndimage.gaussian_filter(x, 1.0)),
    "signal.convolve": (CONVERTED, lambda s, x: s.signal.convolve(x[0], x[1], method="direct")),
    "signal.detrend": (CONVERTED, lambda s, x: s.signal.detrend(x)),
    "signal.lfilter": (
        COMPILED,
        lambda s, x: s.signal.lfilter(fnp.asarray([1.0, 0.5]), fnp.asarray([1.0, 0.2]), x),
    ),
    "signal.welch": (CONVERTED, lambda s, x: s.signal.welch(x[:, 0], nperseg=4)[1]),
    "spatial.distance.cdist": (COMPILED, lambda s, x: s.spatial.distance.cdist(x, x * 2)),
    "stats.Normal": (CONVERTED, lambda s, x: s.stats.Normal(mu=x, sigma=2.0).pdf(0.5)),
    "stats.norm": (CONVERTED, lambda s, x: s.stats.norm.pdf(x)),
    "stats.wasserstein_distance": (
        CONVERTED,
        lambda s, x: s.stats.wasserstein_distance(x[0], x[1]),
    ),
}


def rotation(s):
    return s.spatial.transform.Rotation


def of_one(s, x, name):
    function = functools.reduce(getattr, name.split("."), s)
    return function(x)


def of_two(s, x, name):
    function = functools.reduce(getattr, name.split("."), s)
    y = fnp.flip(x) + x**2
    return function(x[:, 0], y[:, 0]) if name.startswith("signal") else function(x, y)


def table():
    rows = {}
    for names, function in ((OF_ONE, of_one), (OF_TWO, of_two)):
        for module, text in names.items():
            for name in (f"{module}.{word}" for word in text.split()):
                rows[name] = functools.partial(function, name=name)
    return rows | WRITTEN_OUT | LATELY


def total(result):
    """Return one number that depends on all floating-point arrays in what a function returned."""
    if isinstance(result, (tuple, list)):
        arrays = [x for x in result if hasattr(x, "dtype") and x.dtype.kind in "fc"]
        return sum(i * total(x) for i, x in enumerate(arrays, 1))
    if not hasattr(result, "dtype"):  # the result of a test
        return result.statistic.sum() + (result.pvalue**2).sum()
    if result.dtype.kind == "c":
        return total(fnp.abs(result))
    return (result * fnp.cos(fnp.arange(1.0, result.size + 1)).reshape(result.shape)).sum()


def main():
    """Print the derivatives of all functions, or what was raised, as JSON."""
    import scipy
    import scipy.cluster.vq
    import scipy.differentiate
    import scipy.optimize.elementwise

    x = uniform(4, 3)
    t = np.random.default_rng(1).normal(size=x.shape)
    found = {}
    for name, call in table().items():

        def f(x, call=call):
            return total(call(scipy, x))

        try:
            slope = float(np.sum(fg.grad(f)(x) * t))
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
            continue
        numeric = float(f(x + 1e-6 * t) - f(x - 1e-6 * t)) / 2e-6
        try:
            compiled = float(np.sum(fg.jit(fg.grad(f))(x) * t))
        except Exception as error:
            compiled = f"{type(error).__name__}: {error}"
        found[name] = [slope, numeric, compiled]
    for name, (_, call) in CANNOT.items():
        try:
            found[name] = repr(fg.grad(lambda x, call=call: total(call(scipy, x)))(x))
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


@pytest.fixture(scope="module")
def found():
    """What the child process found."""
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", __file__]
    environment["FUNGRAD_READING"] = "0"  # SciPy's own code, where functions are not read
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", table())
def test_gradient_is_that_of_differences(name, found):
    if name in LATELY and isinstance(found[name], str):
        assert found[name].startswith("LostDerivativeError")
        return
    assert isinstance(found[name], list), found[name]
    slope, numeric, compiled = found[name]
    assert slope != 0
    assert slope == pytest.approx(numeric, rel=1e-5, abs=1e-6)
    if name in NEED_VALUES.split():
        assert isinstance(compiled, str), compiled
    elif name in MAY_NEED_VALUES.split() and isinstance(compiled, str):
        assert compiled.startswith("ConcretizationError")
    else:
        assert compiled == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize("name", CANNOT)
def test_no_gradient_is_lost_silently(name, found):
    reason, _ = CANNOT[name]
    assert reason in (COMPILED, CONVERTED)
    assert found[name].startswith("LostDerivativeError"), found[name]


if __name__ == "__main__":
    main()
