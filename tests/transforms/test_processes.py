"""Other processes: forks of a busy one, and interpreters that drop docstrings and assertions."""

import os
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def python(*options: str, timeout: float = 300) -> str:
    """Run an interpreter of its own on the fungrad of this repository; return what it prints."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *options],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FORKS = """
    import os, signal, sys, threading, time, warnings
    import numpy as np
    import fungrad as fg
    import fungrad.numpy as fnp

    warnings.simplefilter("ignore", DeprecationWarning)  # of forking while there are threads
    sys.setswitchinterval(1e-5)
    done, going = False, threading.Event()
    current = {}  # what each thread is at

    @fg.jit
    def shared(x):
        for _ in range(10):
            x = fnp.cos(x) + 1
        return x

    def work(n):
        shared(np.ones(n + 1))
        def f(x):
            for _ in range(n % 17 + 3):
                x = fnp.sin(x) * 2 + n
            return x.sum()
        x = np.ones(n % 5 + 1)
        expected = fg.grad(f)(x)
        np.testing.assert_allclose(fg.jit(fg.grad(f))(x), expected)
        np.testing.assert_allclose(fg.vmap(fg.jit(f))(np.ones((2, n % 5 + 1))).shape, (2,))
        return n

    def keep_compiling(start):
        n = start
        while not done:
            going.wait()
            current[start] = n
            work(n)
            n += 4

    work(0)  # so that nothing is left to import: Python's own locks of modules are not ours
    threads = [threading.Thread(target=keep_compiling, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    outcomes = []
    for k in range(15):
        going.set()
        time.sleep(0.03)
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends it if it hangs
            try:
                for n in [*current.values(), 1000 * k]:
                    work(n)
            except BaseException:
                os._exit(1)
            os._exit(0)
        going.clear()
        outcomes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    done = True
    going.set()
    for thread in threads:
        thread.join()
    print(outcomes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no os.fork here")
@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="without a GIL, dicts that other threads were writing to stay locked in the child: Python's own",
)
def test_a_process_forked_while_threads_compile_can_compile():
    assert python("-c", textwrap.dedent(FORKS)).strip() == str([0] * 15)


OPTIMIZED = """
    import importlib, pkgutil, sys
    import numpy as np
    import fungrad as fg
    import fungrad.numpy as fnp

    for module in pkgutil.walk_packages(fg.__path__, "fungrad."):
        importlib.import_module(module.name)
    for module in (fg, fnp, fg.lax, fg.scipy.special, fg.scipy.stats):
        for name in dir(module):
            getattr(module, name)

    def f(x):
        y = fnp.zeros_like(x)
        y[1:] = fnp.sin(x[:-1])
        return (fnp.where(y > 0, y * x, x) ** 2).sum()

    x = np.arange(4.0)
    print(fg.jit(f)(x) == f(x), fg.vmap(f)(np.stack([x, x])).shape)
    print(np.allclose(fg.grad(f)(x), fg.jit(fg.grad(f))(x)))
    print(fg.lax.scan(lambda c, x: (c + x, c * x), 0.0, x)[0])
    print(fg.lax.rev.__doc__, fg.lax.linalg.lu.__doc__, fg.lax.pmin.__doc__)
"""


def test_without_docstrings_and_assertions():
    assert python("-OO", "-c", textwrap.dedent(OPTIMIZED)).splitlines() == [
        "True (2,)",
        "True",
        "6.0",
        "None None None",
    ]
