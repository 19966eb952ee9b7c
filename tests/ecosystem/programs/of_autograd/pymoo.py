"""pymoo: derivatives of problems with several objectives, by boxes that pymoo makes itself, and reference directions."""

import autograd.numpy as anp
import numpy as np
import pymoo.gradient
from pymoo.core.problem import ElementwiseProblem, Problem
from pymoo.gradient.automatic import AutomaticDifferentiation, ElementwiseAutomaticDifferentiation
from pymoo.problems import get_problem
from pymoo.util.ref_dirs import get_reference_directions

pymoo.gradient.activate("autograd")
_X = np.random.RandomState(0).rand(4, 5) * 0.8 + 0.1


class _ManyAtOnce(Problem):
    def __init__(self):
        super().__init__(n_var=5, n_obj=2, n_ieq_constr=1, xl=0.0, xu=1.0)

    def _evaluate(self, x, out, *args, **kwargs):
        first, second = anp.sum(x**2, axis=1), anp.sum((x - 1) ** 2, axis=1) * anp.exp(x[:, 0])
        out["F"] = anp.column_stack([first, second])
        out["G"] = anp.sum(anp.sin(x), axis=1)[:, None] - 2


class _OneByOne(ElementwiseProblem):
    def __init__(self):
        super().__init__(n_var=5, n_obj=2, xl=0.0, xu=1.0)

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"] = anp.stack([anp.sum(x**2) + anp.prod(x), anp.sum(anp.cos(x)) * x[1]])


def problems_of_many_points_at_once():
    problem = AutomaticDifferentiation(_ManyAtOnce(), backend="autograd")
    return problem.evaluate(_X, return_values_of=["F", "dF", "G", "dG"])


def problems_of_one_point():
    problem = ElementwiseAutomaticDifferentiation(_OneByOne(), backend="autograd")
    return problem.evaluate(_X, return_values_of=["F", "dF"])


def test_problems():
    found = []
    for name in ("zdt1", "zdt2", "zdt3", "bnh", "osy", "srn", "rosenbrock", "ackley", "rastrigin"):
        problem = get_problem(name)
        low, high = problem.bounds()
        x = low + (high - low) * np.random.RandomState(1).rand(3, problem.n_var)
        derived = AutomaticDifferentiation(problem, backend="autograd")
        found.append(derived.evaluate(x, return_values_of=["F", "dF"]))
    return found


def reference_directions_of_least_energy():
    return get_reference_directions("energy", 3, 10, seed=1)
