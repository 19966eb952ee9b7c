# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from collections.abc import Hashable as _Hashable
from collections.abc import Mapping as _Mapping
from fungrad.optim.base import GradientTransformation as _GradientTransformation
from fungrad.optim.base import GradientTransformationExtraArgs as _GradientTransformationExtraArgs
from fungrad.optim.base import Number as _Number
from fungrad.optim.base import Params as _Params
from fungrad.optim.base import ScalarOrSchedule as _ScalarOrSchedule
from fungrad.optim.masking import MaskOrFn as _MaskOrFn
from fungrad.optim.rows import Optimizer as _Optimizer
from fungrad.typing import Array as _Array
from fungrad.typing import PyTree as _PyTree
from numpy.typing import DTypeLike as _DTypeLike

from fungrad.optim.accumulation import ApplyEvery as ApplyEvery, EmaState as EmaState, MultiSteps as MultiSteps, MultiStepsState as MultiStepsState, ShouldSkipUpdateFunction as ShouldSkipUpdateFunction, TraceState as TraceState, apply_every as apply_every, ema as ema, skip_large_updates as skip_large_updates, skip_not_finite as skip_not_finite, trace as trace
from fungrad.optim.adaptive import ScaleByAdamState as ScaleByAdamState, ScaleByAdanState as ScaleByAdanState, ScaleByAmsgradState as ScaleByAmsgradState, ScaleByBeliefState as ScaleByBeliefState, scale_by_adam as scale_by_adam, scale_by_adamax as scale_by_adamax, scale_by_adan as scale_by_adan, scale_by_amsgrad as scale_by_amsgrad, scale_by_belief as scale_by_belief, scale_by_radam as scale_by_radam, scale_by_yogi as scale_by_yogi
from fungrad.optim.adaptive_squares import ScaleByAdaDeltaState as ScaleByAdaDeltaState, ScaleByNovogradState as ScaleByNovogradState, ScaleByRStdDevState as ScaleByRStdDevState, ScaleByRStdDevWithCountState as ScaleByRStdDevWithCountState, ScaleByRmsState as ScaleByRmsState, ScaleByRmsWithCountState as ScaleByRmsWithCountState, ScaleByRssState as ScaleByRssState, ScaleBySM3State as ScaleBySM3State, scale_by_adadelta as scale_by_adadelta, scale_by_novograd as scale_by_novograd, scale_by_rms as scale_by_rms, scale_by_rss as scale_by_rss, scale_by_sm3 as scale_by_sm3, scale_by_stddev as scale_by_stddev
from fungrad.optim.backtracking import ScaleByBacktrackingLinesearchState as ScaleByBacktrackingLinesearchState, scale_by_backtracking_linesearch as scale_by_backtracking_linesearch
from fungrad.optim.base import EmptyState as EmptyState, GradientTransformation as GradientTransformation, GradientTransformationExtraArgs as GradientTransformationExtraArgs, OptState as OptState, Params as Params, ScalarOrSchedule as ScalarOrSchedule, Schedule as Schedule, TransformInitFn as TransformInitFn, TransformUpdateExtraArgsFn as TransformUpdateExtraArgsFn, TransformUpdateFn as TransformUpdateFn, Updates as Updates, apply_updates as apply_updates, identity as identity, incremental_update as incremental_update, init_empty_state as init_empty_state, periodic_update as periodic_update, safe_increment as safe_increment, set_to_zero as set_to_zero, stateless as stateless, stateless_with_tree_map as stateless_with_tree_map, with_extra_args_support as with_extra_args_support
def safe_int32_increment(count: _Number) -> _Array: r"""Return the count and one more, or the count if there is no larger number of its dtype."""
from fungrad.optim.clipping import AdaptiveGradClipState as AdaptiveGradClipState, ClipByGlobalNormState as ClipByGlobalNormState, ClipState as ClipState, adaptive_grad_clip as adaptive_grad_clip, clip as clip, clip_by_block_rms as clip_by_block_rms, clip_by_global_norm as clip_by_global_norm, global_norm as global_norm, per_example_global_norm_clip as per_example_global_norm_clip, per_example_layer_norm_clip as per_example_layer_norm_clip, unitwise_clip as unitwise_clip, unitwise_norm as unitwise_norm
from fungrad.optim.combining import MonitorState as MonitorState, SnapshotState as SnapshotState, chain as chain, flatten as flatten, measure_with_ema as measure_with_ema, monitor as monitor, named_chain as named_chain, snapshot as snapshot
from fungrad.optim.conditions import ApplyIfFiniteState as ApplyIfFiniteState, ConditionFn as ConditionFn, ConditionallyMaskState as ConditionallyMaskState, ConditionallyTransformState as ConditionallyTransformState, NonNegativeParamsState as NonNegativeParamsState, ZeroNansState as ZeroNansState, apply_if_finite as apply_if_finite, conditionally_mask as conditionally_mask, conditionally_transform as conditionally_transform, keep_params_nonnegative as keep_params_nonnegative, zero_nans as zero_nans
from fungrad.optim.factored import FactoredState as FactoredState, scale_by_factored_rms as scale_by_factored_rms
from fungrad.optim.hyperparams import InjectHyperparamsState as InjectHyperparamsState, InjectStatefulHyperparamsState as InjectStatefulHyperparamsState, StatefulSchedule as StatefulSchedule, WrappedSchedule as WrappedSchedule, WrappedScheduleState as WrappedScheduleState, inject_hyperparams as inject_hyperparams
def inject_stateful_hyperparams(inner_factory: _Callable[..., _GradientTransformation], static_args: str | _Iterable[str] = ..., hyperparam_dtype: _DTypeLike | None = ...) -> _Callable[..., _GradientTransformationExtraArgs]: r"""Return an optimizer whose numbers are in its state, visible and changeable without a new trace."""
from fungrad.optim.joined_schedules import join_schedules as join_schedules, sgdr_schedule as sgdr_schedule, warmup_constant_schedule as warmup_constant_schedule, warmup_cosine_decay_schedule as warmup_cosine_decay_schedule, warmup_exponential_decay_schedule as warmup_exponential_decay_schedule
def value_and_grad_from_state(value_fn: _Callable[..., _Any]) -> _Callable[..., tuple[_Any, _Any]]: r"""Return `value_and_grad` that takes both from the state of a line search if they are known there."""
from fungrad.optim.masking import MaskOrFn as MaskOrFn, MaskedNode as MaskedNode, MaskedState as MaskedState, MultiTransformState as MultiTransformState, PartitionState as PartitionState, freeze as freeze, masked as masked, partition as partition, selective_transform as selective_transform
def multi_transform(transforms: _Mapping[_Hashable, _GradientTransformation], param_labels: _PyTree | _Callable[[_Params], _PyTree], *, mask_compatible_extra_args: _bool = ...) -> _GradientTransformationExtraArgs: r"""Transform each part of the parameters in its own way."""
from fungrad.optim.moments import bias_correction as bias_correction, update_infinity_moment as update_infinity_moment, update_moment as update_moment, update_moment_per_elem_norm as update_moment_per_elem_norm
from fungrad.optim.optimizers import adadelta as adadelta, adafactor as adafactor, fromage as fromage, lars as lars, optimistic_adam_v2 as optimistic_adam_v2, polyak_sgd as polyak_sgd, rmsprop as rmsprop, rprop as rprop, sgd as sgd, signum as signum, sm3 as sm3
from fungrad.optim.quasi_newton import ScaleByLBFGSState as ScaleByLBFGSState, lbfgs as lbfgs, scale_by_lbfgs as scale_by_lbfgs
from fungrad.optim.randomness import AddNoiseState as AddNoiseState, add_noise as add_noise
def adabelief(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., *, nesterov: _bool = ...) -> _Optimizer: r"""AdaBelief (J. Zhuang et al., 2020)."""
def adagrad(learning_rate: _ScalarOrSchedule, initial_accumulator_value: _Number = ..., eps: _Number = ...) -> _Optimizer: r"""Adagrad (J. Duchi et al., 2011)."""
def adam(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., mu_dtype: _DTypeLike | None = ..., *, nesterov: _bool = ...) -> _Optimizer: r"""Adam (D. Kingma and J. Ba, 2014)."""
def adamax(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ...) -> _Optimizer: r"""Adamax (D. Kingma and J. Ba, 2014)."""
def adamaxw(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., weight_decay: _ScalarOrSchedule = ..., mask: _MaskOrFn | None = ...) -> _Optimizer: r"""Adamax with weight decay."""
def adamw(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., mu_dtype: _DTypeLike | None = ..., weight_decay: _ScalarOrSchedule = ..., mask: _MaskOrFn | None = ..., *, nesterov: _bool = ...) -> _Optimizer: r"""Adam with weight decay (I. Loshchilov and F. Hutter, 2019)."""
def adan(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., b3: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., weight_decay: _ScalarOrSchedule = ..., mask: _MaskOrFn | None = ...) -> _Optimizer: r"""Adan (X. Xie et al., 2022)."""
def amsgrad(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., mu_dtype: _DTypeLike | None = ..., bias_correction_mu: _bool = ..., bias_correction_nu: _bool = ...) -> _Optimizer: r"""AMSGrad (S. Reddi et al., 2018)."""
def lamb(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., weight_decay: _ScalarOrSchedule = ..., mask: _MaskOrFn | None = ...) -> _Optimizer: r"""LAMB (Y. You et al., 2020)."""
def lion(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., mu_dtype: _DTypeLike | None = ..., weight_decay: _ScalarOrSchedule = ..., mask: _MaskOrFn | None = ...) -> _Optimizer: r"""Lion (X. Chen et al., 2023)."""
def nadam(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., mu_dtype: _DTypeLike | None = ..., *, nesterov: _bool = ...) -> _Optimizer: r"""NAdam: Adam with Nesterov momentum (T. Dozat, 2016)."""
def nadamw(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., mu_dtype: _DTypeLike | None = ..., weight_decay: _ScalarOrSchedule = ..., mask: _MaskOrFn | None = ..., *, nesterov: _bool = ...) -> _Optimizer: r"""NAdam with weight decay."""
def noisy_sgd(learning_rate: _ScalarOrSchedule, eta: _Number = ..., gamma: _Number = ..., key: _Array | int = ...) -> _Optimizer: r"""Descend along gradients with noise that fades (A. Neelakantan et al., 2015)."""
def novograd(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., weight_decay: _Number = ...) -> _Optimizer: r"""NovoGrad (B. Ginsburg et al., 2019)."""
def optimistic_gradient_descent(learning_rate: _ScalarOrSchedule, alpha: _Number = ..., beta: _Number = ...) -> _Optimizer: r"""Descend along gradients and their changes (A. Mokhtari et al., 2020), as games need it."""
def radam(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ..., eps_root: _Number = ..., threshold: _Number = ..., *, nesterov: _bool = ...) -> _Optimizer: r"""RAdam (L. Liu et al., 2020)."""
def sign_sgd(learning_rate: _ScalarOrSchedule) -> _Optimizer: r"""Descend by the signs of gradients (J. Bernstein et al., 2018)."""
def yogi(learning_rate: _ScalarOrSchedule, b1: _Number = ..., b2: _Number = ..., eps: _Number = ...) -> _Optimizer: r"""Yogi (M. Zaheer et al., 2018)."""
from fungrad.optim.scaling import AddDecayedWeightsState as AddDecayedWeightsState, ScaleByScheduleState as ScaleByScheduleState, ScaleByTrustRatioState as ScaleByTrustRatioState, ScaleState as ScaleState, WeightDecaySchedule as WeightDecaySchedule, add_decayed_weights as add_decayed_weights, centralize as centralize, normalize_by_update_norm as normalize_by_update_norm, safe_norm as safe_norm, safe_root_mean_squares as safe_root_mean_squares, scale as scale, scale_by_learning_rate as scale_by_learning_rate, scale_by_param_block_norm as scale_by_param_block_norm, scale_by_param_block_rms as scale_by_param_block_rms, scale_by_polyak as scale_by_polyak, scale_by_schedule as scale_by_schedule, scale_by_trust_ratio as scale_by_trust_ratio
from fungrad.optim.signs import ScaleByDistanceOverGradientsState as ScaleByDistanceOverGradientsState, ScaleByLionState as ScaleByLionState, ScaleByOptimisticGradientState as ScaleByOptimisticGradientState, ScaleByRpropState as ScaleByRpropState, scale_by_distance_over_gradients as scale_by_distance_over_gradients, scale_by_lion as scale_by_lion, scale_by_optimistic_gradient as scale_by_optimistic_gradient, scale_by_rprop as scale_by_rprop, scale_by_sign as scale_by_sign
from fungrad.optim.single_schedules import constant_schedule as constant_schedule, cosine_decay_schedule as cosine_decay_schedule, cosine_onecycle_schedule as cosine_onecycle_schedule, exponential_decay as exponential_decay, linear_onecycle_schedule as linear_onecycle_schedule, linear_schedule as linear_schedule, piecewise_constant_schedule as piecewise_constant_schedule, piecewise_interpolate_schedule as piecewise_interpolate_schedule, polynomial_schedule as polynomial_schedule
from fungrad.optim.two_speeds import LookaheadParams as LookaheadParams, LookaheadState as LookaheadState, lookahead as lookahead
from fungrad.optim.utilities import nnls as nnls, power_iteration as power_iteration, scale_gradient as scale_gradient
from fungrad.optim.zoom import ScaleByZoomLinesearchState as ScaleByZoomLinesearchState, ZoomLinesearchInfo as ZoomLinesearchInfo, scale_by_zoom_linesearch as scale_by_zoom_linesearch
from fungrad.optim import perturbations as perturbations, projections as projections, tree as tree
from fungrad.nn import losses as losses
from fungrad.nn.losses import *
