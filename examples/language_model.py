"""A small transformer reads the names of Unicode's characters, and makes up new ones.

Every Python has the same ones: `unicodedata.ucd_3_2_0`, which is kept as it was in 2002. It holds 11,080 names such as
LATIN SMALL LETTER A WITH GRAVE, without those of ideographs and of Hangul syllables. A tenth of them is put aside; the
others are one long text, letter by letter. The network (A. Radford et al., "Language Models are Unsupervised Multitask
Learners", 2019) sees up to 48 letters and says how likely each letter is to come next.

What it learned is measured on the tenth, in bits per letter: the length to which a perfect coder could shorten those
names. A table of how often each letter followed three others needs 1.42; it is beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from unicodedata import ucd_3_2_0

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import lax, nn, optim, random

LETTERS = "\n -0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LAYERS, WIDTH, HEADS, LENGTH = 2, 64, 4, 48
STEPS, BATCH, RATE = 1500, 16, 5e-3


class Trained(NamedTuple):
    """Losses on the way, bits per letter in the end, those of a table, and names made up."""

    losses: Any
    bits: float
    bits_of_table: float
    names: list[str]


def load() -> tuple[Any, Any]:
    """Return the letters of the names to learn from and of those of the test, as integers."""
    names = [ucd_3_2_0.name(chr(i), "") for i in range(0x10000)]
    names = [n for n in names if n and not n.startswith(("CJK ", "HANGUL SYLLABLE"))]
    order = np.random.default_rng(0).permutation(len(names))
    split = len(names) // 10
    parts = order[split:], order[:split]
    texts = ["\n" + "".join(names[i] + "\n" for i in part) for part in parts]
    return tuple(np.array([LETTERS.index(c) for c in text]) for text in texts)


def init(key: Any) -> dict[str, Any]:
    """Draw the weights."""
    keys = iter(random.split(key, 3 + 4 * LAYERS))
    draw = lambda *shape: 0.1 * random.normal(next(keys), shape, np.float32)
    one, zero = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    blocks = [
        {
            "norms": [(one, zero), (one, zero)],
            "to_heads": draw(WIDTH, 3 * WIDTH),
            "from_heads": draw(WIDTH, WIDTH),
            "up": draw(WIDTH, 4 * WIDTH),
            "down": draw(4 * WIDTH, WIDTH),
        }
        for _ in range(LAYERS)
    ]
    letters, places, out = draw(len(LETTERS), WIDTH), draw(LENGTH, WIDTH), draw(WIDTH, len(LETTERS))
    return {"letters": letters, "places": places, "blocks": blocks, "norm": (one, zero), "out": out}


def block(p: Any, x: Any) -> Any:
    """Let each place look at those before it, then think by itself."""
    heads = nn.layer_norm(x, *p["norms"][0]) @ p["to_heads"]
    q, k, v = np.moveaxis(heads.reshape(*x.shape[:2], 3, HEADS, WIDTH // HEADS), 2, 0)
    seen = nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + seen.reshape(x.shape) @ p["from_heads"]
    return x + nn.gelu(nn.layer_norm(x, *p["norms"][1]) @ p["up"]) @ p["down"]


def logits(params: Any, text: Any) -> Any:
    """Return how likely each letter is to come next, at each place of rows of text."""
    x = nn.embedding(text, params["letters"]) + params["places"][: text.shape[1]]
    for p in params["blocks"]:
        x = block(p, x)
    return nn.layer_norm(x, *params["norm"]) @ params["out"]


def loss(params: Any, text: Any) -> Any:
    """Return the mean cross entropy of the next letters."""
    scores = logits(params, text[:, :-1])
    return nn.softmax_cross_entropy_with_integer_labels(scores, text[:, 1:]).mean()


@fg.jit
def made_up(params: Any, key: Any) -> Any:
    """Write rows of text, each beginning with a new line."""

    def write(i: Any, state: Any) -> Any:
        text, key = state
        key, for_letter = random.split(key)
        scores = lax.dynamic_index_in_dim(logits(params, text), i, axis=1, keepdims=False)
        return fg.at(text)[:, i + 1].set(random.categorical(for_letter, scores)), key

    return lax.fori_loop(0, LENGTH - 1, write, (np.zeros((16, LENGTH), int), key))[0]


def bits_of_table(text: Any, test: Any) -> float:
    """Return the bits per letter of the test if only how often letters followed three others is known."""
    fours = lambda text: tuple(np.lib.stride_tricks.sliding_window_view(text, 4).T)
    counts = np.full((len(LETTERS),) * 4, 0.03)
    np.add.at(counts, fours(text), 1.0)
    chances = counts / counts.sum(axis=-1, keepdims=True)
    return float(-np.log2(chances[fours(test)]).mean())


def learn(steps: int = STEPS) -> Trained:
    """Train the network, test it, and let it write."""
    text, test = load()
    for_weights, for_names = random.split(random.key(0))
    params = init(for_weights)
    schedule = optim.warmup_cosine_decay_schedule(0.0, RATE, steps // 20 + 1, steps + 1)
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(schedule))
    state = optimizer.init(params)

    @fg.jit
    def update(params: Any, state: Any, batch: Any) -> Any:
        value, gradient = fg.value_and_grad(loss)(params, batch)
        changes, state = optimizer.update(gradient, state, params)
        return optim.apply_updates(params, changes), state, value

    rng, losses = np.random.default_rng(0), []
    for _ in range(steps):
        begin = rng.integers(len(text) - LENGTH, size=(BATCH, 1))
        params, state, value = update(params, state, text[begin + np.arange(LENGTH + 1)])
        losses.append(float(value))
    rows = np.lib.stride_tricks.sliding_window_view(test, LENGTH + 1)[::LENGTH]
    bits = fg.jit(loss)(params, rows) / np.log(2.0)
    written = ["".join(LETTERS[i] for i in row) for row in made_up(params, for_names)]
    names = [s.split("\n")[1] for s in written]
    return Trained(np.array(losses), float(bits), bits_of_table(text, test), names)


def check(found: Trained) -> list[Check]:
    """How well it guesses names that it has not seen."""
    return [Check("bits per letter of new names", found.bits, at_most=1.28)]


def draw(found: Trained, figure: Any) -> None:
    """Draw how it learns, and what it writes."""
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.1))
    smooth = np.convolve(found.losses / np.log(2.0), np.ones(20) / 20, "valid")
    left.plot(smooth, color="tab:blue", label="names it learns from")
    left.axhline(found.bits, color="tab:red", lw=1.0, label="new names")
    left.axhline(found.bits_of_table, color="0.6", ls=":", label="new names, by a table")
    left.set(xlabel="step", ylabel="bits per letter", ylim=(0.0, 4.0))
    left.legend(frameon=False, fontsize=8)
    right.set_title("made up", fontsize=10, loc="left")
    right.axis("off")
    for i, name in enumerate(found.names):
        y = 1.0 - (i + 0.5) / len(found.names)
        right.text(0.0, y, name[:36], fontsize=7.5, family="monospace")


if __name__ == "__main__":
    main(learn, check, draw)
