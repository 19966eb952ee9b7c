"""FUNGRAD_DISABLE_CPU_FEATURES: kernels for a processor that lacks some of what this one has."""

import pytest

from fungrad.compile import processor
from fungrad.compile.processor import allowed
from fungrad.compile.targets import host
from tests.compile.compiling import needs_compiler

WIDE = dict.fromkeys(("avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "sse2"), True)


def forget():
    for function in (processor.disabled, processor.features, host.compiler, host._machine):
        function.cache_clear()


@pytest.fixture
def without(monkeypatch):
    """Return a function that sets the variable, which is read once."""

    def disable(names):
        monkeypatch.setenv("FUNGRAD_DISABLE_CPU_FEATURES", names)
        forget()

    yield disable
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize(
    ("names", "left"),
    [
        ([], "avx avx2 fma f16c avx512f"),
        (["avx512f"], "avx avx2 fma f16c"),
        (["fma"], "avx avx2 f16c"),
        (["avx2"], "avx fma f16c"),
        (["avx"], ""),
    ],
)
def test_features_that_need_a_disabled_one_are_disabled(names, left):
    found = allowed(WIDE, names)
    assert [k for k in WIDE if found[k] and k not in ("sse2", "avx512bw")] == left.split()


def test_other_processors_keep_their_features():
    assert allowed({"neon": True, "sve": False}, []) == {"neon": True, "sve": False}
    assert allowed({"neon": True, "sve": True}, ["sve"]) == {"neon": True, "sve": False}


def test_an_unknown_feature_is_refused():
    with pytest.raises(ValueError, match=r"FUNGRAD_DISABLE_CPU_FEATURES has 'avx521f'.*avx, avx2"):
        allowed(WIDE, ["avx521f"])


@needs_compiler
def test_machine_code_has_no_instruction_of_a_disabled_feature(without):
    import llvmlite.binding as binding

    vector = "<4 x double>"
    text = f"define {vector} @f({vector} %x) {{ %y = fadd {vector} %x, %x\n ret {vector} %y }}"
    written = lambda: host._machine().emit_assembly(binding.parse_assembly(text))
    if not processor.features().get("avx"):
        pytest.skip("the processor has no AVX")
    assert "%ymm" in written()
    as_it_is = host.stored_as(text)
    without("avx")
    assert "%ymm" not in written()
    assert "%xmm" in written()
    assert host.stored_as(text) != as_it_is


@needs_compiler
def test_without_a_fused_product_there_are_no_kernels(without):
    if not processor.is_x86():
        pytest.skip("other processors all have one")
    host.missing.cache_clear()
    without("sse4a, fma")
    try:
        assert host.missing() == "the processor cannot multiply and add at once"
    finally:
        host.missing.cache_clear()
