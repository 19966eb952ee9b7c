"""`jax.profiler`: nothing is profiled; Python's own profilers see everything."""

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.inert import no_effect, nothing

TraceAnnotation = StepTraceAnnotation = trace = nothing
start_trace = stop_trace = start_server = stop_server = save_device_memory_profile = no_effect
register_subprocess = no_effect


def annotate_function(func: Any, name: Any = None, **_: Any) -> Any:
    """Return the function."""
    return func


__getattr__ = _namespace("jax.profiler", globals(), [])
