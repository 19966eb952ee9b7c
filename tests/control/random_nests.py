"""Random nests of Python's loops over elements, as source: places that move, stay, cross and turn back, sums, scratch and scalars."""

import linecache
import random

import numpy as np

NDIM = {"A": 2, "B": 2, "x": 1, "y": 1}
"""The arrays of a nest, and their numbers of axes."""


class Nest:
    """The text of one program; all arrays have axes of the length `size`.

    With `wide`, bounds may be variables of outer loops, loops may have one round or none, and there are windows and branches.
    """

    def __init__(self, seed, wide=False):
        self.random = random.Random(seed)
        self.wide = wide
        self.rounds = self.random.choice([11, 13])
        self.size = self.rounds + 8
        body = self.block([], "    ", self.random.choice([1, 2, 3]))
        first = "    A, B, x, y = A.copy(), B.copy(), x.copy(), y.copy()\n    s = 0.1\n"
        last = "    return np.concatenate([A.ravel(), B.ravel(), x, y, np.array([1.0]) * s])\n"
        self.text = f"def f(A, B, x, y):\n{first}" + "".join(body) + last

    def index(self, names):
        chance = self.random.random()
        if not names or chance > 0.75:
            return str(self.random.choice([0, 2, 3, 5, -1, -2]))
        v, k = self.random.choice(names), self.random.choice([1, 2])
        forms = [v] * 5 + [f"{v} + {k}", f"{v} - {k}", f"{self.rounds + 3} - {v}", f"{v} // 2"]
        return self.random.choice([*forms, f"{v} - {self.size}"])

    def element(self, names):
        name = self.random.choice([*NDIM])
        return f"{name}[{', '.join([self.index(names) for _ in range(NDIM[name])])}]"

    def part(self, names):
        name, first = self.random.choice([*NDIM]), self.random.choice([0, 1, 2, 3])
        parts = [f"{first}:{first + self.rounds}"]
        if NDIM[name] == 2:
            parts.insert(self.random.choice([0, 1]), self.index(names))
        return f"{name}[{', '.join(parts)}]"

    def expression(self, names, parts, depth=0):
        chance = self.random.random()
        if depth > 2 or chance < 0.45:
            return self.part(names) if parts and chance < 0.3 else self.element(names)
        if chance < 0.55:
            return self.random.choice(["0.5", "1.5", "-0.7", "s"])
        inner = [self.expression(names, parts, depth + 1) for _ in "ab"]
        if chance < 0.62:
            return f"np.sin({inner[0]})"
        x, y = inner
        return f"({x} {self.random.choice('+-**')} {y})"

    def block(self, names, indent, depth):
        lines = []
        for _ in range(self.random.choice([1, 1, 2])):
            if depth and self.random.random() < 0.6:
                v, first, n = f"i{len(names)}", self.random.choice([2, 3]), self.rounds
                step = self.random.choice([1, 1, 1, 2])
                span = f"{first}, {first + n - self.random.choice([0, 1])}, {step}"
                if self.random.random() < 0.15:
                    span = f"{first + n - 1}, {first - 1}, -{step}"
                if self.wide:
                    span = self.other_span(names) or span
                lines.append(f"{indent}for {v} in range({span}):\n")
                lines += self.block([*names, v], f"{indent}    ", depth - 1)
            else:
                lines.append(f"{indent}{self.statement(names)}\n")
        return lines

    def other_span(self, names):
        """Return bounds of which one is a variable, or of one round or none; None for the usual ones."""
        chance = self.random.random()
        if chance < 0.1:
            return self.random.choice(["3, 3", "4, 2", "3, 4", "5, 6, 2"])
        if not names or chance > 0.6:
            return None
        v, last = self.random.choice(names), self.rounds + 2
        return self.random.choice(
            [f"2, {v}", f"{v}, {last}", f"{v} + 1, {last}", f"2, {v} + 1", f"{v} - 1, 1, -1"]
        )

    def other_statement(self, names):
        """Return a statement with a window or a branch, or one of min and max."""
        v, target = self.random.choice(names), self.element(names)
        value = self.expression(names, False)
        return self.random.choice(
            [
                f"x[{v} - 1:{v} + 2] += 0.1 * y[{v} - 2:{v} + 1]",
                f"A[{v}, {v} - 1:{v} + 1] = 0.4 * B[{v} - 1, {v}:{v} + 2]",
                f"{target} = 0.2 * np.sum(B[{v} - 1:{v} + 1, 2:4]) + 0.5 * {target}",
                f"if {value} > 1.0: {target} -= 0.2 * {value}",
                f"{target} = max({target}, 0.4 * {value})",
                f"{target} = np.minimum(1.5, {value})",
                f"{target}, s = 0.5 * {target} + 0.1 * s, 0.3 * {target}",
            ]
        )

    def statement(self, names):
        if self.wide and names and self.random.random() < 0.2:
            return self.other_statement(names)
        parts = self.random.random() < 0.25
        if self.random.random() < 0.12:
            return f"s = {self.random.choice(['s + ', ''])}{self.expression(names, False)}"
        target = self.part(names) if parts else self.element(names)
        op = self.random.choice(["=", "=", "+=", "+=", "-=", "*="])
        value = self.expression(names, parts)
        return f"{target} *= 0.9" if op == "*=" else f"{target} {op} 0.3 * {value}"

    def function(self):
        """Return the function; its source can be read."""
        name = f"<nest {id(self)}>"
        linecache.cache[name] = (len(self.text), None, self.text.splitlines(True), name)
        names = {"np": np}
        exec(compile(self.text, name, "exec"), names)
        return names["f"]

    def arguments(self, seed, dtype=float):
        rng = np.random.default_rng(seed)
        arrays = [rng.uniform(0.5, 1.0, (self.size,) * ndim) for ndim in NDIM.values()]
        return [x.astype(dtype) for x in arrays]
