# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from fungrad.core.types import ArrayType as ArrayType, float0 as float0
from fungrad.core.checks import CheckError as CheckError
from fungrad.core.errors import ConcretizationError as ConcretizationError, ExprError as ExprError, FrozenRandomWarning as FrozenRandomWarning, FungradError as FungradError, LeakedTracerError as LeakedTracerError, LostDerivativeError as LostDerivativeError, MissingRuleError as MissingRuleError, RetraceWarning as RetraceWarning, StrictConversionWarning as StrictConversionWarning
from fungrad.core.expr import Equation as Equation, Expr as Expr
from fungrad.core.tracer import Tracer as Tracer
from fungrad.core.config import checking as checking
from fungrad import numpy as numpy, ad_checkpoint as ad_checkpoint, conventions as conventions, custom_batching as custom_batching, custom_derivatives as custom_derivatives, debug as debug, distributed as distributed, example_libraries as example_libraries, experimental as experimental, extend as extend, flatten_util as flatten_util, image as image, lax as lax, nn as nn, ops as ops, optim as optim, random as random, scipy as scipy, settings as settings, sharding as sharding, show as show, test_util as test_util, training as training, tree as tree, tree_util as tree_util, typing as typing
from fungrad.numpy.at import at as at
from fungrad.ad_checkpoint import checkpoint_policies as checkpoint_policies
from fungrad.callback import pure_callback as pure_callback
from fungrad.execution import block_until_ready as block_until_ready, device_get as device_get, effects_barrier as effects_barrier, ensure_compile_time_eval as ensure_compile_time_eval, named_call as named_call, named_scope as named_scope
from fungrad.device import Device as Device, default_backend as default_backend, default_device as default_device, device_count as device_count, device_put as device_put, devices as devices
from fungrad.profiling import profile as profile
from fungrad.distributed import local_device_count as local_device_count, local_devices as local_devices, process_count as process_count, process_index as process_index
from fungrad.programs.rules.checkpoint import checkpoint as checkpoint, remat as remat
from fungrad.programs.rules.closures import closure_convert as closure_convert, custom_gradient as custom_gradient
from fungrad.programs.rules.custom_jvp import custom_jvp as custom_jvp
from fungrad.programs.rules.custom_vjp import custom_vjp as custom_vjp
from fungrad.programs.rules.residuals import print_saved_residuals as print_saved_residuals
from fungrad.random.reuse import KeyReuseError as KeyReuseError
from fungrad.reading.explain import explain as explain
from fungrad.reading.leaving import as_written as as_written
from fungrad.reporting import show_config as show_config
from fungrad.settings import checking_leaks as checking_leaks, config as config, debug_infs as debug_infs, debug_key_reuse as debug_key_reuse, debug_nans as debug_nans, disable_jit as disable_jit, explain_cache_misses as explain_cache_misses, inexact_algebra as inexact_algebra, log_compiles as log_compiles, strict_conversions as strict_conversions, strict_dependence as strict_dependence, threefry_partitionable as threefry_partitionable
from fungrad.saving import ExportError as ExportError, Exported as Exported, export as export, load as load
from fungrad.sharding import make_mesh as make_mesh, shard_map as shard_map
from fungrad.show import to_source as to_source
from fungrad.patterns import hessian_diagonal as hessian_diagonal, sparse_hessian as sparse_hessian, sparse_jacobian as sparse_jacobian, sparsity as sparsity
from fungrad.products import fvp as fvp, gnvp as gnvp, linear_operator as linear_operator
from fungrad.transforms.abstract import ShapeDtypeStruct as ShapeDtypeStruct, eval_shape as eval_shape, make_expr as make_expr, make_jaxpr as make_jaxpr, typeof as typeof
from fungrad.transforms.autodiff import jvp as jvp, linear_transpose as linear_transpose, linearize as linearize, vjp as vjp
from fungrad.transforms.grad import grad as grad, value_and_grad as value_and_grad
from fungrad.transforms.jacobian import hessian as hessian, hvp as hvp, jacfwd as jacfwd, jacobian as jacobian, jacrev as jacrev
from fungrad.transforms.jet import jet as jet
from fungrad.transforms.jit import jit as jit
from fungrad.transforms.stop import stop_gradient as stop_gradient
from fungrad.transforms.vmap import vmap as vmap
from fungrad.uncertainty import laplace as laplace, propagate as propagate
from fungrad.typing import Array as Array

__version__: str
