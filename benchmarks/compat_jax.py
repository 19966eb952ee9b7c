"""What the class of arrays that `fungrad.compat.jax` gives adds to one call, in microseconds.

    python -m benchmarks.compat_jax

Each call is made with arrays of that class, and with NumPy's: by NumPy itself, or by fungrad where NumPy has no such call. All is in
one process with one thread, without compiled kernels; of several runs the best counts.
"""

import os
import subprocess
import sys
import timeit

ROUNDS, COUNT = 9, 2000


def calls():
    """Return pairs of calls, by kind: with arrays of JAX's class, and beside them of NumPy or fungrad."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import fungrad as fg
    import fungrad.numpy as fnp

    X, A, I = np.arange(4, dtype="f4"), np.ones((4, 4), "f4"), np.array([1, 2], "i4")
    x, a, i = jnp.asarray(X), jnp.asarray(A), jnp.asarray(I)
    two = np.float32(2)

    def line(x, y):
        return x * 2 + y

    jitted, plain = jax.jit(line), fg.jit(line)
    with_numpy = {
        "`-x`": (lambda: -x, lambda: -X),
        "`abs(x)`": (lambda: abs(x), lambda: abs(X)),
        "`x + y`": (lambda: x + x, lambda: X + X),
        "`x * 2.0`": (lambda: x * 2.0, lambda: X * 2.0),
        "`np.float32(2) * x`": (lambda: two * x, lambda: two * X),
        "`x < y`": (lambda: x < x, lambda: X < X),
        "`a @ x`": (lambda: a @ x, lambda: A @ X),
        "`x[0]`": (lambda: x[0], lambda: X[0]),
        "`x[1:]`": (lambda: x[1:], lambda: X[1:]),
        "`x[i]`": (lambda: x[i], lambda: X[I]),
        "`x.reshape(2, 2)`": (lambda: x.reshape(2, 2), lambda: X.reshape(2, 2)),
        "`a.T`": (lambda: a.T, lambda: A.T),
        "`x.astype(float32)`": (lambda: x.astype(np.float32), lambda: X.astype(np.float32)),
        "`x.sum()`": (lambda: x.sum(), lambda: X.sum()),
        "`a.max(0)`": (lambda: a.max(0), lambda: A.max(0)),
        "`x.shape`": (lambda: x.shape, lambda: X.shape),
    }
    with_fungrad = {
        "`jnp.sin(x)`": (lambda: jnp.sin(x), lambda: fnp.sin(X)),
        "`jnp.sum(x)`": (lambda: jnp.sum(x), lambda: fnp.sum(X)),
        "`jnp.dot(a, x)`": (lambda: jnp.dot(a, x), lambda: fnp.dot(A, X)),
        "`jnp.where(...)`": (lambda: jnp.where(x > 1, x, x), lambda: fnp.where(X > 1, X, X)),
        "`jnp.concatenate([x, x])`": (
            lambda: jnp.concatenate([x, x]),
            lambda: fnp.concatenate([X, X]),
        ),
        "`jnp.zeros(3)`": (lambda: jnp.zeros(3), lambda: fnp.zeros(3)),
        "a jitted call": (lambda: jitted(x, x), lambda: plain(X, X)),
        "`x.at[0].set(1.0)`": (lambda: x.at[0].set(1.0), lambda: fg.at(X)[0].set(1.0)),
        "`x.at[i].add(1.0)`": (lambda: x.at[i].add(1.0), lambda: fg.at(X)[I].add(1.0)),
    }
    return {"NumPy": with_numpy, "fungrad": with_fungrad}


def seconds(call):
    """Return the least seconds of one call."""
    for _ in range(100):
        call()
    return min(timeit.repeat(call, number=COUNT, repeat=ROUNDS)) / COUNT


def measure():
    """Print the table."""
    print("| call | beside | with NumPy's arrays (us) | with JAX's (us) | added (us) |")
    print("|---|---|---|---|---|")
    for beside, pairs in calls().items():
        for name, (theirs, plain) in pairs.items():
            before, after = seconds(plain) * 1e6, seconds(theirs) * 1e6
            print(f"| {name} | {beside} | {before:.2f} | {after:.2f} | {after - before:+.2f} |")


def main():
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    settings = {"FUNGRAD_COMPILE": "off", "JAX_ENABLE_X64": "0", **threads}
    command = [sys.executable, "-m", "fungrad.compat.jax", __file__, "measure"]
    subprocess.run(command, env={**os.environ, **settings}, check=True)


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["measure"] else main()
