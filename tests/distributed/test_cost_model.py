"""The model of what several processes cost: it finds what a measurement was made of, and knows what programs do."""

import itertools

import numpy as np
import pytest

import fungrad as fg
from benchmarks import rank_model, ranks
from benchmarks.tables import markdown

OWN, MESSAGE, BYTE, SWITCH = 2e-6, 5e-6, 1e-9, 3e-5
STEP = {"data": (2e-4, 0.1), "tensor": (1e-4, 0.2)}


def made_up(cores=2):
    """A measurement of a machine that is as the model has it."""

    def total(size, count):
        own, messages, sent = rank_model.terms("p_sum", size, count)
        crowd = max(1, count / cores)
        return (
            crowd * (own * OWN + messages * MESSAGE + sent * BYTE) + (crowd > 1) * messages * SWITCH
        )

    def run(count):
        found = {
            "count": count,
            "sums": {str(n): total(n, count) for n in ranks.SIZES if count > 1},
            "shares": {
                p: {str(2**k): own + work / 2**k for k in range(11)}
                for p, (own, work) in STEP.items()
            },
        }
        for program, (own, work) in STEP.items():
            step = max(1, count / cores) * (own + work / count) + (count > 1) * total(
                1 << 20, count
            )
            met = [["p_sum", 1 << 20]] if count > 1 else []
            ratio = (own + work) / step
            found[program] = {"alone": own + work, "step": step, "ratio": ratio, "meetings": met}
        return found

    environment = {"date": "2026-01-31", "cores": cores, "cpu": "CPU", "python": "CPython"}
    return {
        "environment": {**environment, "versions": {"fungrad": "0", "numpy": "2"}},
        "runs": [run(count) for count in ranks.COUNTS],
    }


def test_coefficients_are_found():
    model = rank_model.Model(made_up())
    np.testing.assert_allclose(model.of_sums, [OWN, MESSAGE, BYTE, SWITCH], rtol=1e-6)
    for program in STEP:
        for count in ranks.COUNTS:
            measured = model.runs[count][program]["step"]
            np.testing.assert_allclose(model.step(program, count, here=True), measured)


def test_predictions():
    model = rank_model.Model(made_up())
    own, work = STEP["data"]
    size, count = 1 << 20, 1024
    messages = 10 + 2 * 1023
    total = OWN + messages * MESSAGE + (8 * 1023 + 2 * size * 1023 / 1024) * BYTE
    np.testing.assert_allclose(model.step("data", count), own + work / count + total)
    np.testing.assert_allclose(model.step("data", count, share=1.0), own + work + total)
    assert model.step("tensor", 1) == pytest.approx(sum(STEP["tensor"]))


def test_what_processes_take_beside_others_is_measured():
    found = made_up()
    for share in found["runs"][1]["shares"].values():
        share.update({k: 1.5 * seconds for k, seconds in share.items()})
    model = rank_model.Model(found)
    assert model.computing("data", 1, 1 / 2) == pytest.approx(2e-4 + 0.05)
    assert model.computing("data", 1024, 1 / 2) == pytest.approx(1.5 * (2e-4 + 0.05))
    between = model.computing("data", 1, 0.7)
    assert model.computing("data", 1, 1 / 2) < between < model.computing("data", 1, 1.0)


def test_tables_have_prediction_beside_measurement():
    text = rank_model.tables(made_up(), markdown)
    rows = [
        [c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]
    steps = [row for row in rows if row[0] in rank_model.PROGRAMS.values()]
    assert [row[:3] for row in steps[:3]] == [
        ["data parallel", *c] for c in (["1", "1"], ["2", "2"], ["4", "2"])
    ]
    assert all(row[4] == row[5] for row in steps)
    assert steps[1][6].endswith("(at least 90%)")
    assert {f"{2**k}" for k in range(11)} <= {row[0] for row in rows}
    sums = [row for row in rows if len(row) == 5 and row[0].isdigit()]
    assert [row[0] for row in sums] == [*map(str, ranks.SIZES)]
    assert all((row[1], row[3]) == (row[2], row[4]) for row in sums)


def test_small_sums_are_sent_whole():
    assert rank_model.terms("p_sum", 4096, 4) == [1.0, 4.0, 24.0 + 3 * 4096]
    assert rank_model.terms("p_sum", 8192, 4) == [1.0, 8.0, 24.0 + 1.5 * 8192]
    assert rank_model.terms("agreed", 8192, 4) == [1.0, 4.0, 48.0]
    with pytest.raises(ValueError, match="does not know how 'p_dance' is computed"):
        rank_model.terms("p_dance", 8, 2)


@pytest.mark.parametrize("program", rank_model.PROGRAMS)
def test_divided_program_is_the_whole_one(program):
    loss = {"data": ranks.data_loss, "tensor": ranks.tensor_loss}[program]
    step, params, x = ranks.divided(program)
    found, expected = step(params, x), ranks.descending(loss)(*ranks.arrays(program))
    fg.test_util.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_shares_are_of_one_program():
    for program, k in itertools.product(rank_model.PROGRAMS, (1, 1024)):
        params, x = ranks.arrays(program, k)
        assert len(x) == (ranks.DATA_ROWS // k if program == "data" else ranks.TENSOR_ROWS)
        hidden = ranks.DATA_WIDTHS[1] if program == "data" else ranks.TENSOR_HIDDEN // k
        assert hidden in fg.tree.leaves(params)[0].shape


def test_medians_are_of_turns():
    assert rank_model.medians([(2.0, 1.0), (4.0, 4.0), (6.0, 2.0)]) == {
        "alone": 4.0,
        "step": 2.0,
        "ratio": 2.0,
    }
