"""Programs written for autograd, by autograd and with fungrad in its place: milliseconds of processor time for one call.

    python -m benchmarks.compat_autograd

Each side is a process of its own, with one thread; of several runs the best counts.
"""

import itertools
import json
import os
import subprocess
import sys
import time

ROUNDS = 3


def programs():
    """Return the programs; `autograd` is what the process has by that name."""
    import autograd.numpy as np
    from autograd import grad, hessian, jacobian, primitive
    from autograd.extend import defvjp
    from autograd.scipy.special import logsumexp

    draws = np.random.RandomState(0)
    x, large = draws.randn(1000), draws.randn(1_000_000)
    sizes = [784, 200, 100, 10]
    layers = [(draws.randn(m, n) * 0.1, draws.randn(n) * 0.1) for m, n in itertools.pairwise(sizes)]
    images, labels = draws.randn(256, 784), np.eye(10)[draws.randint(0, 10, 256)]
    cell, sequence = draws.randn(60, 50) * 0.1, draws.randn(50, 8, 9)
    A, B = draws.randn(30, 30), draws.randn(100, 100)
    points = np.linspace(0, 1, 100)

    def tanh(x):
        y = np.exp(-2.0 * x)
        return (1.0 - y) / (1.0 + y)

    def wave(x):
        return np.sum(np.sin(x) * x)

    def network(layers):
        x = images
        for W, b in layers:
            outputs = np.dot(x, W) + b
            x = np.tanh(outputs)
        return -np.sum((outputs - logsumexp(outputs, axis=1, keepdims=True)) * labels)

    def recurrent(cell):
        hidden, total = np.zeros((8, 50)), 0.0
        for x in sequence:
            hidden = np.tanh(np.dot(np.concatenate((x, hidden, np.ones((8, 1))), axis=1), cell))
            total = total + np.sum(hidden**2)
        return total

    def evidence(p):
        distances = ((points[:, None] - points[None, :]) / np.exp(p[1])) ** 2
        K = np.exp(p[0] - 0.5 * distances) + 0.1 * np.eye(100)
        return np.dot(points, np.linalg.solve(K, points)) + np.linalg.slogdet(K)[1]

    def loop(x):
        for _ in range(1000):
            x = np.sin(x) * 1.01
        return x

    own = primitive(lambda x: np.log(np.sum(np.exp(x))))
    defvjp(own, lambda ans, x: lambda g: g * np.exp(x - ans))
    return {
        "gradient of `tanh`, a number": lambda: grad(tanh)(0.3),
        "`sum(sin(x) * x)`, 1,000 elements": lambda: grad(wave)(x),
        "`sum(sin(x) * x)`, 1,000,000 elements": lambda: grad(wave)(large),
        "network 784-200-100-10, 256 images": lambda: grad(network)(layers),
        "recurrent network, 50 steps": lambda: grad(recurrent)(cell),
        "Hessian, 30 variables": lambda: hessian(lambda x: np.sum(np.tanh(np.dot(A, x)) ** 2))(
            x[:30]
        ),
        "Jacobian, 100 by 100": lambda: jacobian(lambda x: np.tanh(np.dot(B, x)))(x[:100]),
        "Gaussian process, 100 points": lambda: grad(evidence)(np.array([0.3, -1.0])),
        "loop of 1,000 steps, a number": lambda: grad(loop)(0.5),
        "a primitive with `defvjp`, 1,000 elements": lambda: grad(own)(x),
    }


def measure():
    """Return the seconds of one call of each program."""
    seconds = {}
    for name, program in programs().items():
        for _ in range(4):
            program()
        once = time.process_time()
        program()
        count = max(3, int(0.3 / (time.process_time() - once + 1e-9)))
        begin = time.process_time()
        for _ in range(count):
            program()
        seconds[name] = (time.process_time() - begin) / count
    return seconds


def main():
    sides = {"autograd": [], "fungrad": ["-m", "fungrad.compat.autograd"]}
    found = {side: [] for side in sides}
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    for _ in range(ROUNDS):
        for side, options in sides.items():
            command = [sys.executable, *options, __file__, "measure"]
            done = subprocess.run(
                command, env={**os.environ, **threads}, stdout=subprocess.PIPE, check=True
            )
            found[side].append(json.loads(done.stdout))
    print("| | autograd | fungrad | ratio |\n|---|---|---|---|")
    for name in found["autograd"][0]:
        theirs, ours = (min(r[name] for r in found[side]) * 1e3 for side in sides)
        print(f"| {name} | {theirs:.3g} | {ours:.3g} | {theirs / ours:.1f} |")


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        print(json.dumps(measure()))
    else:
        main()
