"""Parameters that follow others slowly."""

from __future__ import annotations

from typing import Any, NamedTuple

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.extend.precision import array
from fungrad.optim.base import (
    GradientTransformation,
    Number,
    OptState,
    Params,
    Updated,
    Updates,
    no_steps,
)
from fungrad.optim.glossary import public
from fungrad.typing import Array


class LookaheadState(NamedTuple):
    """The state of the fast optimizer, and its steps since the slow parameters last followed."""

    fast_state: OptState
    steps_since_sync: Array


class LookaheadParams(NamedTuple):
    """Fast parameters, where gradients are taken, and slow ones that follow, the result."""

    fast: Params
    slow: Params

    @classmethod
    def init_synced(cls, params: Params) -> LookaheadParams:
        """Begin with both at the same place."""
        return cls(params, params)


@public
def lookahead(
    fast_optimizer: GradientTransformation,
    sync_period: int,
    slow_step_size: Number,
    reset_state: bool = False,
) -> GradientTransformation:
    """Let slow parameters follow those of an optimizer after each few steps (M. Zhang et al., 2019).

    Gradients are taken at `params.fast`; parameters and updates are `LookaheadParams`.

    Parameters
    ----------
    fast_optimizer
        The optimizer.
    sync_period
        The number of its steps after which the slow parameters move, and the fast ones begin where these are.
    slow_step_size
        How far they move: 1 is all the way.
    reset_state
        Whether the optimizer forgets its state then.

    Raises
    ------
    ValueError
        If `sync_period` is not positive.
    TypeError
        If parameters are no `LookaheadParams`.

    Examples
    --------
    >>> tx = optim.lookahead(optim.sgd(1.0), sync_period=2, slow_step_size=0.5)
    >>> params = optim.LookaheadParams.init_synced(np.zeros(1))
    >>> state = tx.init(params)
    >>> for _ in range(2):
    ...     updates, state = tx.update(np.ones(1), state, params)
    ...     params = optim.apply_updates(params, updates)
    ...     print(params)
    LookaheadParams(fast=array([-1.]), slow=array([0.]))
    LookaheadParams(fast=array([-1.]), slow=array([-1.]))
    """
    if sync_period < 1:
        raise ValueError(f"lookahead: sync_period must be positive, got {sync_period}")

    def pair(params: Any) -> LookaheadParams:
        if not isinstance(params, LookaheadParams):
            raise TypeError(
                "lookahead: parameters must be LookaheadParams; begin with "
                f"LookaheadParams.init_synced(params), got {type(params).__name__}"
            )
        return params

    def init(params: Params) -> OptState:
        return LookaheadState(fast_optimizer.init(pair(params).fast), no_steps())

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        fast, slow = pair(params)
        steps, fast_state = fast_optimizer.update(updates, state.fast_state, fast)
        count = state.steps_since_sync + 1
        due = count == sync_period

        def when_due(x: Any, otherwise: Any) -> Any:
            return fnp.where(due, x, otherwise).astype(array(otherwise).dtype)

        ahead = trees.map(lambda f, u, s: f + u - s, fast, steps, slow)
        of_slow = trees.map(lambda d: when_due(slow_step_size * d, fnp.zeros_like(d)), ahead)
        of_fast = trees.map(lambda u, d: when_due(u - (1 - slow_step_size) * d, u), steps, ahead)
        if reset_state:
            fast_state = trees.map(when_due, fast_optimizer.init(fast), fast_state)
        after = LookaheadState(fast_state, when_due(no_steps(), count))
        return LookaheadParams(of_fast, of_slow), after

    return GradientTransformation(init, update)
