"""Optimizers and their parts, with the names and numbers of optax.

For updates and parameters of two bytes or fewer, float16 and bfloat16, computation is in float32. Results and states
are rounded to their dtype. So an `eps` of 1e-8 is not 0, and squares are finite. In float16 squares that are
remembered are between 6e-8 and 65504: steps along gradients below 2e-4 get shorter than they are in float32.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad import optim
>>> tx = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(0.1))
>>> params = {"w": np.array([3.0, -4.0])}
>>> state = tx.init(params)
>>> @fg.jit
... def step(params, state):
...     grads = fg.grad(lambda p: (p["w"] ** 2).sum())(params)
...     updates, state = tx.update(grads, state, params)
...     return optim.apply_updates(params, updates), state
>>> for _ in range(100):
...     params, state = step(params, state)
>>> bool(abs(params["w"]).max() < 0.5)
True
"""

import importlib as _importlib
import sys as _sys
from typing import Any as _Any

_NAMES = {
    "accumulation": (
        "ApplyEvery EmaState MultiSteps MultiStepsState ShouldSkipUpdateFunction TraceState "
        "apply_every ema skip_large_updates skip_not_finite trace"
    ),
    "adaptive": (
        "ScaleByAdamState ScaleByAdanState ScaleByAmsgradState ScaleByBeliefState scale_by_adam "
        "scale_by_adamax scale_by_adan scale_by_amsgrad scale_by_belief scale_by_radam "
        "scale_by_yogi"
    ),
    "adaptive_squares": (
        "ScaleByAdaDeltaState ScaleByNovogradState ScaleByRStdDevState "
        "ScaleByRStdDevWithCountState ScaleByRmsState ScaleByRmsWithCountState ScaleByRssState "
        "ScaleBySM3State scale_by_adadelta scale_by_novograd scale_by_rms scale_by_rss "
        "scale_by_sm3 scale_by_stddev"
    ),
    "backtracking": "ScaleByBacktrackingLinesearchState scale_by_backtracking_linesearch",
    "base": (
        "EmptyState GradientTransformation GradientTransformationExtraArgs OptState Params "
        "ScalarOrSchedule Schedule TransformInitFn TransformUpdateExtraArgsFn TransformUpdateFn "
        "Updates apply_updates identity incremental_update init_empty_state periodic_update "
        "safe_increment safe_int32_increment set_to_zero stateless stateless_with_tree_map "
        "with_extra_args_support"
    ),
    "clipping": (
        "AdaptiveGradClipState ClipByGlobalNormState ClipState adaptive_grad_clip clip "
        "clip_by_block_rms clip_by_global_norm global_norm per_example_global_norm_clip "
        "per_example_layer_norm_clip unitwise_clip unitwise_norm"
    ),
    "combining": (
        "MonitorState SnapshotState chain flatten measure_with_ema monitor named_chain snapshot"
    ),
    "conditions": (
        "ApplyIfFiniteState ConditionFn ConditionallyMaskState ConditionallyTransformState "
        "NonNegativeParamsState ZeroNansState apply_if_finite conditionally_mask "
        "conditionally_transform keep_params_nonnegative zero_nans"
    ),
    "factored": "FactoredState scale_by_factored_rms",
    "hyperparams": (
        "InjectHyperparamsState InjectStatefulHyperparamsState StatefulSchedule WrappedSchedule "
        "WrappedScheduleState inject_hyperparams inject_stateful_hyperparams"
    ),
    "joined_schedules": (
        "join_schedules sgdr_schedule warmup_constant_schedule warmup_cosine_decay_schedule "
        "warmup_exponential_decay_schedule"
    ),
    "line_points": "value_and_grad_from_state",
    "masking": (
        "MaskOrFn MaskedNode MaskedState MultiTransformState PartitionState freeze masked "
        "multi_transform partition selective_transform"
    ),
    "moments": "bias_correction update_infinity_moment update_moment update_moment_per_elem_norm",
    "optimizers": (
        "adadelta adafactor fromage lars optimistic_adam_v2 polyak_sgd rmsprop rprop sgd signum sm3"
    ),
    "quasi_newton": "ScaleByLBFGSState lbfgs scale_by_lbfgs",
    "randomness": "AddNoiseState add_noise",
    "rows": (
        "adabelief adagrad adam adamax adamaxw adamw adan amsgrad lamb lion nadam nadamw noisy_sgd novograd "
        "optimistic_gradient_descent radam sign_sgd yogi"
    ),
    "scaling": (
        "AddDecayedWeightsState ScaleByScheduleState ScaleByTrustRatioState ScaleState "
        "WeightDecaySchedule add_decayed_weights centralize normalize_by_update_norm safe_norm "
        "safe_root_mean_squares scale scale_by_learning_rate scale_by_param_block_norm "
        "scale_by_param_block_rms scale_by_polyak scale_by_schedule scale_by_trust_ratio"
    ),
    "signs": (
        "ScaleByDistanceOverGradientsState ScaleByLionState ScaleByOptimisticGradientState "
        "ScaleByRpropState scale_by_distance_over_gradients scale_by_lion "
        "scale_by_optimistic_gradient scale_by_rprop scale_by_sign"
    ),
    "single_schedules": (
        "constant_schedule cosine_decay_schedule cosine_onecycle_schedule exponential_decay "
        "linear_onecycle_schedule linear_schedule piecewise_constant_schedule "
        "piecewise_interpolate_schedule polynomial_schedule"
    ),
    "two_speeds": "LookaheadParams LookaheadState lookahead",
    "utilities": "nnls power_iteration scale_gradient",
    "zoom": "ScaleByZoomLinesearchState ZoomLinesearchInfo scale_by_zoom_linesearch",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("perturbations", "projections", "tree")

__all__ = [*_HOME, *_MODULES]


def __dir__() -> list[str]:
    losses = _importlib.import_module("fungrad.nn.losses").__all__
    return [*__all__, *losses, "losses", "schedules", "transforms"]


def __getattr__(name: str) -> _Any:
    from fungrad.extend.packages import unknown_name
    from fungrad.optim.exclusions import EXCLUDED

    if name in _MODULES:
        return _importlib.import_module(f"fungrad.optim.{name}")
    if name in _HOME:
        from fungrad.extend.packages import add_example
        from fungrad.optim.glossary import GLOSSARY

        attribute = getattr(_importlib.import_module(f"fungrad.optim.{_HOME[name]}"), name)
        add_example(attribute, __name__, getattr(attribute, "__name__", name), GLOSSARY)
        globals()[name] = attribute
        return attribute
    if name in ("schedules", "transforms"):  # optax has them once more in these modules
        return _sys.modules[__name__]
    losses = _importlib.import_module("fungrad.nn.losses")
    if name == "losses":
        return losses
    if name in losses.__all__:
        return getattr(losses, name)
    raise unknown_name(__name__, name, __all__, EXCLUDED)
