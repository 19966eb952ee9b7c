"""Layers: convolutions, normalization over named axes, attention, what is kept and what computed again."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name


def softmax(x):
    x = x - lax.stop_gradient(x.max(axis=-1, keepdims=True))
    return jnp.exp(x) / jnp.sum(jnp.exp(x), axis=-1, keepdims=True)


def log_softmax(x):
    x = x - lax.stop_gradient(x.max(axis=-1, keepdims=True))
    return x - jnp.log(jnp.sum(jnp.exp(x), axis=-1, keepdims=True))


def layer_norm(x):
    x = x - x.mean(axis=-1, keepdims=True)
    return x * lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-5)


def max_pool(x, window, strides):
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "VALID")


def convolutional_nchw(image, w1, w2, v):
    x = lax.conv(image, w1, (1, 1), "SAME")
    x = max_pool(jnp.maximum(x, 0), (1, 1, 2, 2), (1, 1, 2, 2))
    x = lax.conv_with_general_padding(x, w2, (1, 1), ((1, 0), (0, 1)), None, None)
    return jnp.tanh(x).mean(axis=(2, 3)) @ v


def convolutional_nhwc(image, w):
    x = lax.conv_general_dilated(
        image, w, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    total = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "SAME")
    count = lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "SAME")
    return jnp.tanh(total / count)


def dilated_and_grouped(signal, w):
    numbers = ("NCH", "OIH", "NCH")
    return lax.conv_general_dilated(
        signal,
        w,
        (1,),
        [(2, 0)],
        rhs_dilation=(2,),
        dimension_numbers=numbers,
        feature_group_count=2,
    )


def upsampled(x, w):
    numbers = ("NHWC", "HWIO", "NHWC")
    return jnp.tanh(lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=numbers))


def batch_norm(x, scale, shift):
    """Means over a named axis, so that each example sees the others."""

    def one(x):
        mean = lax.pmean(x, "batch")
        variance = lax.pmean((x - mean) ** 2, "batch")
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift, (mean, variance)

    y, (mean, variance) = jax.vmap(one, axis_name="batch", out_axes=(0, None))(x)
    return jnp.tanh(y), mean, variance


def loss_over_replicas(w, x, y):
    """Each replica has its own data; gradients are averaged over them."""

    def replica(x, y):
        loss, g = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
        g = lax.pmean(g, axis_name="replicas")
        return lax.psum(loss, "replicas"), w - 0.1 * g

    return jax.vmap(replica, axis_name="replicas")(x, y)


def contrastive(images, texts, temperature):
    """Each device compares its pair with the pairs of all."""

    def device(image, text):
        image, text = image / jnp.linalg.norm(image), text / jnp.linalg.norm(text)
        logits = lax.all_gather(text, "i") @ image / jnp.exp(temperature)
        return -log_softmax(logits)[lax.axis_index("i")]

    return jax.vmap(device, axis_name="i")(images, texts)


def ring(x):
    """Sums that go around a ring, and what two named axes exchange."""

    def device(x):
        n = lax.psum(1, "ring")
        shift = [(i, (i + 1) % n) for i in range(n)]

        def step(carry, _):
            total, message = carry
            message = lax.ppermute(message, "ring", shift)
            return (total + jnp.sin(message), message), None

        return lax.scan(step, (x, x), None, length=n - 1)[0][0]

    grid = jax.vmap(
        jax.vmap(lambda x: x / lax.psum(x**2, ("a", "b")), axis_name="a"), axis_name="b"
    )
    return jax.vmap(device, axis_name="ring")(x), grid(x), below_the_maximum(x)


def below_the_maximum(x):
    return jax.vmap(lambda x: x - lax.pmax(lax.stop_gradient(x), "i"), axis_name="i")(x)


def checkpointed_perceptron(ws, x):
    @jax.checkpoint
    def layer(w, x):
        return jnp.sin(jnp.tanh(w @ x))

    for w in ws:
        x = layer(w, x)
    return x


def checkpointed_scan(ws, x):
    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
    def layer(x, w):
        return jnp.tanh(w @ x) + x, jnp.sum(x)

    return lax.scan(layer, x, ws)


def named_and_kept(w, x):
    policy = jax.checkpoint_policies.save_only_these_names("hidden")

    @functools.partial(jax.remat, policy=policy)
    def block(w, x):
        h = checkpoint_name(jnp.sin(w @ x), "hidden")
        return jnp.cos(w.T @ h) * h

    return block(w, block(w, x))


def attention(params, x, mask):
    q, k, v = (jnp.einsum("td,hde->hte", x, params[n]) for n in ("q", "k", "v"))
    scores = jnp.einsum("hte,hse->hts", q, k) / q.shape[-1] ** 0.5
    scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("hts,hse,hed->td", softmax(scores), v, params["o"])


def transformer(params, x):
    """Blocks computed again on the way back, in a scan over their stacked parameters."""
    mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool))

    @jax.checkpoint
    def block(x, params):
        x = x + attention(params, layer_norm(x), mask)
        return x + jnp.tanh(layer_norm(x) @ params["up"]) @ params["down"], None

    return lax.scan(block, x, params)[0]


def streaming_attention(q, k, v):
    """Softmax in chunks of keys, with a running maximum."""

    def chunk(carry, kv):
        top, total, out = carry
        k, v = kv
        s = q @ k.T
        new = jnp.maximum(top, s.max(axis=1))
        scale, p = jnp.exp(top - new), jnp.exp(s - new[:, None])
        total = total * scale + p.sum(axis=1)
        return (new, total, out * scale[:, None] + p @ v), None

    start = (jnp.full_like(q[:, 0], -jnp.inf), jnp.zeros_like(q[:, 0]), jnp.zeros_like(q))
    chunks = (k.reshape(-1, 2, k.shape[1]), v.reshape(-1, 2, v.shape[1]))
    (_, total, out), _ = lax.scan(chunk, start, chunks)
    return out / total[:, None]


def greedy_decoding(params, start):
    """A cache of keys written in each step; what is chosen goes into the next."""
    n, d = 4, params["embed"].shape[1]

    def step(carry, t):
        token, cache = carry
        x = params["embed"][token]
        cache = lax.dynamic_update_slice(cache, (x @ params["k"])[None], (t, 0))
        scores = jnp.where(jnp.arange(n) <= t, cache @ x, -jnp.inf)
        logits = params["embed"] @ (softmax(scores) @ cache)
        token = jnp.argmax(logits)
        return (token, cache), (token, log_softmax(logits)[token])

    cache = jnp.zeros((n, d), params["k"].dtype)
    return lax.scan(step, (start, cache), jnp.arange(n))[1]


def mixture_of_experts(gates, experts, x):
    """Each row goes to one expert, by switch."""
    branches = [jnp.tanh, jnp.sin, lambda h: h * jnp.exp(-(h**2))]

    def row(x):
        p = softmax(gates @ x)
        chosen = jnp.argmax(p)
        h = experts[chosen] @ x
        return p[chosen] * lax.switch(chosen, branches, h)

    return jax.vmap(row)(x)


def dropout_and_residuals(ws, x, keep):
    def layer(x, inputs):
        w, keep = inputs
        return x + jnp.where(keep, jnp.tanh(x @ w) / 0.5, 0.0), None

    return lax.scan(layer, x, (ws, keep))[0]


def cross_entropy_in_chunks(w, x, labels):
    def chunk(inputs):
        x, label = inputs
        return -log_softmax(x @ w)[label]

    return lax.map(chunk, (x, labels)).mean(), lax.map(chunk, (x, labels), batch_size=2)


def squeezed_and_excited(x, w):
    pooled = lax.reduce(x, jnp.zeros((), x.dtype), lax.add, (1, 2)) / (x.shape[1] * x.shape[2])
    gate = lax.logistic(lax.dot(pooled, w))
    gate = lax.broadcast_in_dim(gate, x.shape, (0, 3))
    contracted = lax.dot_general(x, w, (((3,), (0,)), ((), ())))
    return lax.mul(gate, x), contracted


def ensemble(params, x):
    """Trees of parameters with a batch in some leaves only."""
    axes = {"w": 0, "b": None}
    f = lambda p, x: {"out": jnp.tanh(x @ p["w"] + p["b"]), "norm": jnp.sum(p["w"] ** 2)}
    return jax.vmap(f, in_axes=(axes, None), out_axes={"out": 1, "norm": 0})(params, x)


def inputs(rng):
    normal = rng.standard_normal
    blocks = {"q": (2, 4, 2), "k": (2, 4, 2), "v": (2, 4, 2), "o": (2, 2, 4)}
    blocks |= {"up": (4, 3), "down": (3, 4)}
    return {
        "convolutional_nchw": (
            normal((2, 1, 4, 4)),
            normal((2, 1, 3, 3)),
            normal((3, 2, 2, 2)),
            normal(3),
        ),
        "convolutional_nhwc": (normal((1, 4, 5, 2)), normal((3, 2, 2, 3))),
        "dilated_and_grouped": (normal((1, 4, 6)), normal((4, 2, 2))),
        "upsampled": (normal((1, 2, 3, 2)), normal((3, 3, 2, 1))),
        "batch_norm": (normal((4, 3)), normal(3), normal(3)),
        "loss_over_replicas": (normal(2), normal((3, 2, 2)), normal((3, 2))),
        "contrastive": (normal((3, 2)), normal((3, 2)), np.array(0.3)),
        "ring": (normal((3, 3)),),
        "checkpointed_perceptron": (normal((3, 2, 2)), normal(2)),
        "checkpointed_scan": (normal((3, 2, 2)), normal(2)),
        "named_and_kept": (normal((2, 2)), normal(2)),
        "transformer": ({k: normal((2, *shape)) for k, shape in blocks.items()}, normal((3, 4))),
        "streaming_attention": (normal((3, 2)), normal((4, 2)), normal((4, 2))),
        "greedy_decoding": ({"embed": normal((4, 3)), "k": normal((3, 3))}, np.array(1)),
        "mixture_of_experts": (normal((3, 2)), normal((3, 2, 2)), normal((4, 2))),
        "dropout_and_residuals": (
            normal((3, 2, 2)),
            normal((2, 2)),
            rng.uniform(size=(3, 2, 2)) < 0.5,
        ),
        "cross_entropy_in_chunks": (normal((2, 3)), normal((4, 2)), np.array([0, 2, 1, 1])),
        "squeezed_and_excited": (normal((2, 2, 2, 3)), normal((3, 3))),
        "ensemble": ({"w": normal((3, 2, 2)), "b": normal(2)}, normal((4, 2))),
    }


NEEDS_JIT = {"mixture_of_experts"}
