"""Dynamic programming, cellular automata, loops over integers, and what works with indices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def edit_distance(substitution, insertion, deletion):
    """A row of the table in each step, and a scan along the row inside."""
    m = substitution.shape[1]
    first = jnp.arange(m + 1, dtype=insertion.dtype) * insertion

    def row(previous, costs):
        def cell(left, inputs):
            up, diagonal, cost = inputs
            best = jnp.minimum(jnp.minimum(left + insertion, up + deletion), diagonal + cost)
            return best, best

        start = previous[0] + deletion
        _, cells = lax.scan(cell, start, (previous[1:], previous[:-1], costs))
        return jnp.concatenate([start[None], cells]), None

    return lax.scan(row, first, substitution)[0][-1]


def soft_edit_distance(costs):
    """Soft time warping along antidiagonals, with windows that slide."""
    n = costs.shape[0]
    softmin = lambda *xs: -jnp.log(sum(jnp.exp(-x) for x in xs))
    table = jnp.full((n + 1, n + 1), 50.0, costs.dtype)
    table = lax.dynamic_update_slice(table, jnp.zeros((1, 1), costs.dtype), (0, 0))

    def step(k, table):
        i, j = k // n, k % n
        window = lax.dynamic_slice(table, (i, j), (2, 2))
        value = costs[i, j] + softmin(window[0, 0], window[0, 1], window[1, 0])
        return lax.dynamic_update_slice(table, value[None, None], (i + 1, j + 1))

    return lax.fori_loop(0, n * n, step, table)[n, n]


def knapsack(values, weights):
    """The best value for each capacity; items have integer weights."""
    capacity = 6

    def take(best, item):
        value, weight = item
        shifted = lax.dynamic_slice(
            jnp.concatenate([jnp.full_like(best, -jnp.inf), best]),
            (capacity + 1 - weight,),
            (capacity + 1,),
        )
        best = jnp.maximum(best, shifted + value)
        return best, jnp.max(best)

    return lax.scan(take, jnp.zeros(capacity + 1, values.dtype), (values, weights))


def coin_change(coins, amounts):
    def fill(a, ways):
        last = jnp.where(a >= coins, ways[jnp.maximum(a - coins, 0)], 0)
        return ways.at[a].set(last.sum())

    ways = lax.fori_loop(1, 9, fill, jnp.zeros(9, coins.dtype).at[0].set(1))
    return ways[amounts]


def longest_common_subsequence(a, b):
    n = b.shape[0]

    def row(previous, x):
        diagonal = jnp.where(b == x, previous[:-1] + 1, 0)
        best = jnp.maximum(diagonal, previous[1:])
        return jnp.concatenate([previous[:1], lax.cummax(best)]), None

    return lax.scan(row, jnp.zeros(n + 1, a.dtype), a)[0][-1]


def floyd_warshall(weights):
    def relax(k, d):
        column = lax.dynamic_index_in_dim(d, k, 1)
        row = lax.dynamic_index_in_dim(d, k, 0)
        return jnp.minimum(d, column + row)

    return lax.fori_loop(0, weights.shape[0], relax, jnp.exp(weights))


def mandelbrot(c):
    """Numbers of steps until the escape, by a loop for each point."""

    def steps(c):
        inside = lambda s: (s[0] < 12) & (jnp.abs(s[1]) <= 2)
        k, z = lax.while_loop(inside, lambda s: (s[0] + 1, s[1] ** 2 + c), (0, jnp.zeros_like(c)))
        return k, jnp.abs(z)

    return jax.vmap(jax.vmap(steps))(c)


def game_of_life(board):
    """Neighbours are counted by a convolution."""
    kernel = jnp.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], board.dtype)[None, None]

    def step(board, _):
        around = lax.conv_general_dilated(board[None, None], kernel, (1, 1), "SAME")[0, 0]
        board = ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)
        return board, board.sum()

    return lax.scan(step, board, None, length=3)


def rule_110(cells):
    def step(cells, _):
        code = 4 * jnp.roll(cells, 1) + 2 * cells + jnp.roll(cells, -1)
        new = (110 >> code) & 1
        return new, new

    return lax.scan(step, cells, None, length=5)[1]


def collatz(n):
    def body(state):
        n, steps = state
        return lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), steps + 1

    return lax.while_loop(lambda s: s[0] != 1, body, (n, 0))[1]


def greatest_common_divisor(a, b):
    return lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))[0]


def power_modulo(base, exponent):
    def body(state):
        base, exponent, result = state
        result = jnp.where(exponent & 1 == 1, result * base % 97, result)
        return base * base % 97, exponent >> 1, result

    return lax.while_loop(lambda s: s[1] > 0, body, (base, exponent, jnp.ones_like(base)))[2]


def xorshift(seed):
    """Random bits of 32 bits, as a carry."""

    def step(x, _):
        x = x ^ (x << 13)
        x = x ^ (x >> 17)
        x = x ^ (x << 5)
        return x, (x >> 8).astype("float32") / 2**24

    return lax.scan(step, seed, None, length=4)


def binary_search(table, values):
    def find(value):
        def body(state):
            lower, upper = state
            middle = (lower + upper) // 2
            return lax.cond(
                table[middle] <= value, lambda: (middle + 1, upper), lambda: (lower, middle)
            )

        return lax.while_loop(lambda s: s[0] < s[1], body, (0, table.shape[0]))[0]

    return jax.vmap(find)(values)


def bubble_sort(x):
    """Two loops, one in the other, that exchange elements in place."""
    n = x.shape[0]

    def exchange(j, x):
        a, b = x[j], x[j + 1]
        return x.at[j].set(jnp.minimum(a, b)).at[j + 1].set(jnp.maximum(a, b))

    return lax.fori_loop(0, n - 1, lambda i, x: lax.fori_loop(0, n - 1, exchange, x), x)


def beam_search(scores):
    """The best paths through a lattice, kept by top_k."""
    width = 2

    def step(beam, row):
        total = (beam[:, None] + jnp.log1p(jnp.exp(row))).reshape(-1)
        best, index = lax.top_k(total, width)
        return best, (index // row.shape[-1], index % row.shape[-1])

    start = lax.top_k(scores[0, 0], width)[0]
    return lax.scan(step, start, scores[1:])


def sorted_with_payload(keys, payload):
    keys, payload = lax.sort_key_val(keys, payload, dimension=1)
    return (
        keys * jnp.arange(keys.shape[1], dtype=keys.dtype),
        payload,
        lax.sort(keys, dimension=0)[-1],
    )


def segment_means(values, segments):
    total = jnp.zeros(3, values.dtype).at[segments].add(values)
    count = jnp.zeros(3, values.dtype).at[segments].add(1.0)
    largest = jnp.full(3, -jnp.inf, values.dtype).at[segments].max(values)
    return total / jnp.maximum(count, 1), largest


def sliding_windows(x, weights):
    n = weights.shape[0]
    starts = jnp.arange(x.shape[0] - n + 1)
    windows = jax.vmap(lambda i: lax.dynamic_slice_in_dim(x, i, n))(starts)
    return windows @ weights


def strided_patches(image, starts):
    """Patches at given places; those that leave the image are moved inside."""
    patch = lambda start: lax.dynamic_slice(image, (start[0], start[1]), (2, 2))
    return lax.map(lambda s: jnp.sum(patch(s) ** 2), starts), lax.slice(
        image, (0, 1), (3, 4), (2, 1)
    )


def gathered(x, rows):
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return lax.gather(x, rows[:, None], numbers, slice_sizes=(1, x.shape[1]))


def scattered(x, rows, updates):
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    added = lax.scatter_add(x, rows[:, None], updates, numbers)
    return lax.scatter_mul(added, rows[:1, None], updates[:1], numbers, unique_indices=True)


def updated(x, i, v):
    x = x.at[i].add(v[: i.shape[0]]).at[1:3].multiply(2.0).at[-1].set(0.5)
    x = x.at[jnp.array([0, 9])].add(1.0, mode="drop")
    return x.at[::2].min(v[0]).at[i[0]].max(v[1]), x.at[i].get()


def histogram_in_a_scan(x):
    def step(counts, v):
        bin = jnp.clip(jnp.floor(v + 2).astype(int), 0, 3)
        return counts.at[bin].add(v), counts[bin]

    return lax.scan(step, jnp.zeros(4, x.dtype), x)


def pagerank(links, damping):
    rank = lambda s: (damping * (links / links.sum(0)) @ s[0] + (1 - damping) / 4, s[0], s[2] + 1)
    far = lambda s: (jnp.abs(s[0] - s[1]).sum() > 1e-3) & (s[2] < 40)
    start = jnp.full_like(links[0], 0.25)
    return lax.while_loop(far, rank, (start, jnp.zeros_like(start), 0))


def fibonacci(n):
    return lax.fori_loop(0, n, lambda _, s: (s[1], s[0] + s[1]), (jnp.zeros_like(n), n // n))[0]


def run_lengths(flags):
    """Lengths of runs, by a scan of an associative operation."""

    def combine(a, b):
        (length, whole), (other, other_whole) = a, b
        return jnp.where(other_whole, length + other, other), whole & other_whole

    return lax.associative_scan(combine, (flags.astype("int32"), flags))[0]


def inputs(rng):
    normal, integers = rng.standard_normal, rng.integers
    return {
        "edit_distance": (normal((3, 4)) ** 2, np.array(0.7), np.array(0.6)),
        "soft_edit_distance": (normal((3, 3)) ** 2,),
        "knapsack": (normal(4) ** 2, np.array([1, 3, 2, 4])),
        "coin_change": (np.array([1, 2, 5]), np.array([3, 8])),
        "longest_common_subsequence": (integers(0, 3, 6), integers(0, 3, 5)),
        "floyd_warshall": (normal((4, 4)),),
        "mandelbrot": (normal((2, 3)) + 1j * normal((2, 3)),),
        "game_of_life": (integers(0, 2, (5, 5)).astype(float),),
        "rule_110": (integers(0, 2, 8),),
        "collatz": (integers(3, 20),),
        "greatest_common_divisor": (integers(30, 99, 3).sum(), integers(30, 99)),
        "power_modulo": (integers(2, 96), integers(1, 60)),
        "xorshift": (integers(1, 2**31, dtype=np.uint32),),
        "binary_search": (np.sort(normal(7)), normal(3)),
        "bubble_sort": (normal(4),),
        "beam_search": (normal((4, 3, 3))[:, :1],),
        "sorted_with_payload": (normal((2, 4)), normal((2, 4))),
        "segment_means": (normal(6), np.array([0, 2, 0, 1, 1, 2])),
        "sliding_windows": (normal(6), normal(3)),
        "strided_patches": (normal((4, 4)), np.array([[0, 0], [2, 1], [3, 3]])),
        "gathered": (normal((4, 3)), np.array([2, 0, 2])),
        "scattered": (normal((4, 3)), np.array([2, 0, 2]), normal((3, 3))),
        "updated": (normal(5), np.array([3, 0, 3]), normal(5)),
        "histogram_in_a_scan": (normal(5),),
        "pagerank": (rng.uniform(size=(4, 4)), np.array(0.8)),
        "fibonacci": (integers(5, 20),),
        "run_lengths": (normal(7) > -0.7,),
    }


FORWARD_ONLY = {"mandelbrot", "pagerank"}
NEEDS_JIT = {"binary_search", "coin_change", "segment_means", "updated"}
