"""JAX's functions about devices, without effect: there is one CPU.

Meshes, shardings and partition specs are made and shown, and have no effect.
"""

from __future__ import annotations

import contextlib
import enum
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


class Device:
    """The CPU."""

    platform = "cpu"
    device_kind = "cpu"
    id = 0
    process_index = 0
    local_hardware_id = 0
    host_id = 0

    def __repr__(self) -> str:
        return "CpuDevice(id=0)"

    def __str__(self) -> str:
        return "TFRT_CPU_0"

    def __reduce__(self) -> Any:
        return "CPU"

    def memory_stats(self) -> None:
        """Return None: it is not known."""


CPU = Device()


def devices(backend: Any = None) -> list[Device]:
    """Return the one device."""
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"there is no backend {backend!r}: fungrad, in the place of jax, has the CPU alone"
        )
    return [CPU]


def local_devices(
    process_index: Any = None, backend: Any = None, host_id: Any = None
) -> list[Device]:
    """Return the one device."""
    return devices(backend)


def device_count(backend: Any = None) -> int:
    """Return 1."""
    return len(devices(backend))


def zero(backend: Any = None) -> int:
    """Return 0, the index of the one process."""
    return 0


def process_indices(backend: Any = None) -> list[int]:
    """Return the indices of processes."""
    return [0]


def default_backend() -> str:
    """Return "cpu"."""
    return "cpu"


class PartitionSpec(tuple[Any, ...]):
    """The axes of a mesh that axes of an array lie along."""

    __slots__ = ()
    UNCONSTRAINED = object()

    def __new__(cls, *partitions: Any, **_: Any) -> Any:
        return super().__new__(cls, partitions)

    def __repr__(self) -> str:
        return f"P{tuple(self)!r}"

    def __reduce__(self) -> Any:
        return PartitionSpec, tuple(self)


class AxisType(enum.Enum):
    """How an axis of a mesh is used."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _NamedAxes:
    """Named axes, and their lengths."""

    def __init__(self, axis_sizes: Any, axis_names: Any, axis_types: Any = None) -> None:
        self.axis_sizes = (axis_sizes,) if isinstance(axis_sizes, int) else tuple(axis_sizes)
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                f"a mesh of shape {self.axis_sizes} takes as many names of axes, got {self.axis_names}"
            )
        if axis_types is None or isinstance(axis_types, AxisType):
            axis_types = (axis_types or AxisType.Auto,) * len(self.axis_names)
        self.axis_types = tuple(axis_types)

    @property
    def shape(self) -> dict[Any, int]:
        """The lengths of the axes by their names."""
        return dict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """The names of the axes with their lengths."""
        return tuple(self.shape.items())

    @property
    def size(self) -> int:
        """How many devices there are."""
        return math.prod(self.axis_sizes)

    @property
    def empty(self) -> bool:
        """Whether there are no axes."""
        return not self.axis_names

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.shape == other.shape

    def __hash__(self) -> int:
        return hash(self.axis_names)


class AbstractMesh(_NamedAxes):
    """Named axes without the devices along them."""

    abstract_mesh = property(lambda self: self)


class Mesh(_NamedAxes, contextlib.ContextDecorator):
    """Devices in an array with named axes."""

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        self.devices = np.array(devices, dtype=object)
        super().__init__(self.devices.shape, axis_names, axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes alone."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Sharding:
    """How an array is spread over devices: it lies on the one there is."""

    memory_kind = "unpinned_host"
    is_fully_replicated = True
    is_fully_addressable = True
    num_devices = 1

    @property
    def device_set(self) -> set[Device]:
        """The devices."""
        return {CPU}

    addressable_devices = device_set

    def shard_shape(self, shape: Any) -> tuple[int, ...]:
        """Return the shape of the only shard."""
        return tuple(shape)

    def with_memory_kind(self, kind: str) -> Any:
        """Return the sharding itself."""
        return self

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Return whether the other is a sharding: on one device they all mean the same."""
        return isinstance(other, Sharding)


class SingleDeviceSharding(Sharding):
    """An array on one device."""

    def __init__(self, device: Any = CPU, *, memory_kind: Any = None) -> None:
        self.device = device

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding)

    def __hash__(self) -> int:
        return hash(SingleDeviceSharding)


class NamedSharding(Sharding):
    """An array on a mesh."""

    def __init__(self, mesh: Any, spec: Any, *, memory_kind: Any = None, **_: Any) -> None:
        self.mesh, self.spec = mesh, spec

    def update(self, **changes: Any) -> NamedSharding:
        """Return the same with another mesh or spec."""
        return NamedSharding(**{"mesh": self.mesh, "spec": self.spec, **changes})

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh!r}, spec={self.spec!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and (self.mesh, self.spec) == (
            other.mesh,
            other.spec,
        )

    def __hash__(self) -> int:
        return hash(self.spec)


SHARDING = SingleDeviceSharding()


def undivided(ndim: int) -> NamedSharding:
    """Return the sharding of a traced array: along no axis of any mesh."""
    return NamedSharding(AbstractMesh((), ()), PartitionSpec(*[None] * ndim))


AccuracyMode = enum.Enum("AccuracyMode", "HIGHEST DEFAULT")
DotAlgorithmPreset = enum.Enum(
    "DotAlgorithmPreset",
    "DEFAULT ANY_F8_ANY_F8_F32 ANY_F8_ANY_F8_F32_FAST_ACCUM ANY_F8_ANY_F8_ANY ANY_F8_ANY_F8_ANY_FAST_ACCUM F16_F16_F16 F16_F16_F32 "
    "BF16_BF16_BF16 BF16_BF16_F32 BF16_BF16_F32_X3 BF16_BF16_F32_X6 BF16_BF16_F32_X9 TF32_TF32_F32 TF32_TF32_F32_X3 F32_F32_F32 "
    "F64_F64_F64",
)
EigImplementation = enum.Enum("EigImplementation", "CUSOLVER MAGMA LAPACK")
EighImplementation = enum.Enum("EighImplementation", "QR JACOBI QDWH")
SvdAlgorithm = enum.Enum("SvdAlgorithm", "DEFAULT QR JACOBI POLAR DIVIDE_AND_CONQUER")


class Tolerance(NamedTuple):
    """How far off a function may be: NumPy's are exact up to rounding."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


class DotAlgorithm(NamedTuple):
    """How products are computed and summed: in the dtypes of the operands and of the result, by NumPy."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class Shard:
    """The part of an array on a device: all of it."""

    device = CPU
    replica_id = 0

    def __init__(self, data: Any) -> None:
        self.data = data
        self.index = (slice(None),) * data.ndim


@contextlib.contextmanager
def nothing(*_: Any, **__: Any) -> Iterator[None]:
    """No-op context manager and decorator."""
    yield


def no_effect(*_: Any, **__: Any) -> None:
    """Do nothing."""


def itself(x: Any, *_: Any, **__: Any) -> Any:
    """Return the first argument."""
    return x


def make_mesh(
    axis_shapes: Any, axis_names: Any, axis_types: Any = None, *, devices: Any = None
) -> Mesh:
    """Return a mesh, which can have one device."""
    if np.prod(axis_shapes) != 1:
        raise ValueError(f"a mesh of shape {axis_shapes} takes more devices than the one there is")
    return Mesh(np.array([CPU], dtype=object).reshape(axis_shapes), axis_names, axis_types)


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Context, and decorator, that names a part of a program; nothing is done here."""
    if not isinstance(name, str):
        raise TypeError(f"named_scope takes a string, got {name!r}")
    yield


_TABLE: dict[Any, dict[str, str]] = {
    nothing: {
        "jax": """
            default_matmul_precision default_prng_impl numpy_rank_promotion numpy_dtype_promotion transfer_guard
            transfer_guard_host_to_device transfer_guard_device_to_host transfer_guard_device_to_device
            legacy_prng_key enable_custom_prng softmax_custom_jvp allow_f16_reductions enable_checks
            check_tracer_leaks array_garbage_collection_guard auto_pcast no_execution no_tracing set_mesh
            jax2tf_associative_scan_reductions remove_size_one_mesh_axis_from_type thread_guard use_mesh default_device
            make_user_context
        """,
        "jax.profiler": "TraceAnnotation StepTraceAnnotation trace",
        "jax.sharding": "set_mesh use_mesh use_abstract_mesh",
        "jax.extend.source_info_util": """
            user_context extend_name_stack set_name_stack reset_name_stack transform_name_stack
        """,
    },
    no_effect: {
        "jax": "copy_to_host_async effects_barrier",
        "jax.profiler": """
            start_trace stop_trace start_server stop_server save_device_memory_profile register_subprocess
        """,
        "jax.distributed": "initialize shutdown",
        "jax.monitoring": """
            clear_event_listeners record_event record_event_duration_secs record_event_time_span record_scalar
            register_event_duration_secs_listener register_event_listener register_event_time_span_listener
            register_scalar_listener unregister_event_duration_listener unregister_event_listener
            unregister_event_time_span_listener unregister_scalar_listener
        """,
        "jax.extend.backend": "clear_backends clear_in_memory_compilation_cache",
        "jax.extend.source_info_util": "register_exclusion",
        "jax.experimental.multihost_utils": "sync_global_devices assert_equal",
        "jax.debug": "inspect_array_sharding visualize_array_sharding visualize_sharding",
        "jax.lax": "after_all create_token",
    },
    itself: {
        "jax": "block_until_ready reshard",
        "jax.sharding": "reshard",
        "jax.lax": "dce_sink optimization_barrier with_sharding_constraint pcast",
        "jax.experimental.multihost_utils": "broadcast_one_to_all process_allgather",
        "jax.experimental.layout": "with_layout_constraint",
    },
}


def inert_names(module: str) -> dict[str, Any]:
    """Return the names without effect in a module of JAX."""
    return {name: f for f, of in _TABLE.items() for name in of.get(module, "").split()}
