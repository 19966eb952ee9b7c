"""Every public function and class shows an example in its documentation, and the example runs."""

import doctest
import importlib
import inspect
import sys
import types
from pathlib import Path

import pytest

import fungrad
from fungrad.core.examples import examples_of
from tests.test_public import public_modules

PACKAGE = Path(fungrad.__file__).parent

WITHOUT = {
    "fungrad.compat.autograd": "pytest_addoption",
    "fungrad.compat.jax": "pytest_addoption",
    "fungrad.compat.numpy": "uninstall",
    "fungrad.example_libraries.optimizers": "JoinPoint Optimizer OptimizerState",
    "fungrad.nn.initializers": "Initializer",
    "fungrad.optim": (
        "AdaptiveGradClipState AddDecayedWeightsState AddNoiseState ApplyEvery ApplyIfFiniteState "
        "ClipByGlobalNormState ClipState ConditionFn ConditionallyMaskState ConditionallyTransformState "
        "EmaState EmptyState FactoredState GradientTransformation GradientTransformationExtraArgs "
        "InjectHyperparamsState InjectStatefulHyperparamsState LookaheadParams LookaheadState MaskedNode "
        "MaskedState MonitorState MultiStepsState MultiTransformState NonNegativeParamsState PartitionState "
        "ScaleByAdaDeltaState ScaleByAdamState ScaleByAdanState ScaleByAmsgradState "
        "ScaleByBacktrackingLinesearchState ScaleByBeliefState ScaleByDistanceOverGradientsState "
        "ScaleByLBFGSState ScaleByLionState ScaleByNovogradState ScaleByOptimisticGradientState "
        "ScaleByRStdDevState ScaleByRStdDevWithCountState ScaleByRmsState ScaleByRmsWithCountState "
        "ScaleByRpropState ScaleByRssState ScaleBySM3State ScaleByScheduleState ScaleByTrustRatioState "
        "ScaleByZoomLinesearchState ScaleState ShouldSkipUpdateFunction SnapshotState StatefulSchedule "
        "TraceState TransformInitFn TransformUpdateExtraArgsFn TransformUpdateFn WeightDecaySchedule "
        "WrappedScheduleState ZeroNansState ZoomLinesearchInfo"
    ),
    "fungrad.optim.perturbations": "Gumbel Normal",
    "fungrad.optim.tree": "NamedTupleKey",
    "fungrad.programs.rules.policies": (
        "checkpoint_dots checkpoint_dots_with_no_batch_dims dots_saveable dots_with_no_batch_dims_saveable "
        "nothing_saveable save_any_names_but_these save_anything_except_these_names save_from_both_policies"
    ),
}
"""The names that have no example yet, separated by blanks, by module. Do not add any."""


def shown(module):
    """Map the names of the functions and classes of fungrad's own that a public module shows to what they are."""
    if module.__name__ == "fungrad.compat":
        values = {x: importlib.import_module(f"fungrad.compat.{x}") for x in dir(module)}
    else:
        values = {x: getattr(module, x) for x in dir(module)}
    return {name: value for name, value in values.items() if callable(value) and is_own(value)}


def is_own(value):
    """Whether a function or class is written in fungrad, whatever module it says it is of."""
    code = getattr(value, "__code__", None)
    return str(getattr(value, "__module__", "")).startswith("fungrad") or (
        code is not None and PACKAGE in Path(code.co_filename).parents
    )


@pytest.mark.parametrize("name", public_modules())
def test_all_that_can_be_called_has_an_example(name):
    """If one has an example that is in `WITHOUT`: take it off there."""
    found = shown(public_modules()[name])
    without = [x for x, value in found.items() if ">>>" not in (inspect.getdoc(value) or "")]
    assert sorted(without) == sorted(WITHOUT.get(name, "").split())


@pytest.mark.parametrize("name", public_modules())
def test_examples_that_tables_give_run(name):
    """The others are in the source, where doctest finds them."""
    finder, runner = (
        doctest.DocTestFinder(),
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE),
    )
    read = set()
    values = shown(public_modules()[name])
    for home in {value.__module__ for value in values.values()} & {*sys.modules}:
        read |= {test.docstring for test in finder.find(sys.modules[home])}
    for public, value in values.items():
        text = value.__doc__ or ""
        if ">>>" in text and text not in read:
            lines = []
            test = doctest.DocTestParser().get_doctest(text, {}, f"{name}.{public}", None, None)
            runner.run(test, out=lines.append)
            assert not lines, "".join(lines)


@pytest.mark.parametrize("name", public_modules())
def test_examples_are_of_public_names(name):
    module, examples = public_modules()[name], examples_of(name)
    if hasattr(module, "__path__"):
        assert [*examples] == sorted(examples)
        for public, example in examples.items():
            value = getattr(module, public)
            value = getattr(value, public) if isinstance(value, types.ModuleType) else value
            assert example in value.__doc__


def test_what_a_library_lacks_in_its_version_has_an_example_too(monkeypatch):
    from fungrad.scipy.special import sums

    monkeypatch.delattr("scipy.special.softmax")

    def softmax(x):
        """Of tracers."""

    assert sums.implements_if_there("softmax")(softmax).__doc__.startswith(
        "Of tracers.\n\nExamples"
    )
