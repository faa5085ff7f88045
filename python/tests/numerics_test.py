"""The writers, through Python, against the bytes that the exporters' own code made. tests/data/numerics/README.md."""

import numpy as np
import pytest
from fixtures import DATA, Fixture

import tessera

# fixture: (writer, format)
FILES = {
    "ct_nvfp4": ("compressed-tensors", "nvfp4"),
    "ct_mxfp4": ("compressed-tensors", "mxfp4"),
    "ct_mxfp8": ("compressed-tensors", "mxfp8"),
    "ct_fp8_tensor": ("compressed-tensors", "fp8"),
    "ct_fp8_channel": ("compressed-tensors", "fp8_channel"),
    "modelopt_nvfp4": ("modelopt", "nvfp4"),
    "modelopt_mxfp8": ("modelopt", "mxfp8"),
    "modelopt_fp8_block": ("modelopt", "fp8_block"),
    "transformers_fp8_128x128": ("transformers", "fp8_block"),
}


def group_amax(fixture, case):
    """The maximum of the group that the exporter gave one global: cases "qkv.q", "qkv.k", ..."""
    if "." not in case:
        return None
    group = case[: case.index(".") + 1]
    members = [c for c in fixture.cases() if c.startswith(group)]
    return max(tessera.amax(fixture[c + ".input"], dtype=fixture.dtype_of(c + ".input")) for c in members)


@pytest.mark.parametrize("name", FILES)
def test_bytes_are_the_exporters(name):
    fixture = Fixture(DATA / "numerics" / f"{name}.safetensors")
    writer, format = FILES[name]
    checked = 0
    for case in fixture.cases():
        if case.startswith(("inf_", "nan_")):  # NaN codes have no one sign: tests/conformance compares them by value
            continue
        x = fixture[case + ".input"]
        q = tessera.quantize(
            x, format, writer, dtype=fixture.dtype_of(case + ".input"), tensor_amax=group_amax(fixture, case)
        )
        if np.isnan(np.asarray(tessera.dequantize(q))).any():  # likewise, of a zero tensor with 0/0 for a scale
            continue
        assert np.array_equal(q.codes.numpy().ravel(), fixture[case + ".codes"].ravel()), case
        if q.scales.dtype == "u8":
            scales = fixture[case + ".scales"]
        else:
            scales = fixture.as_f32(case + ".scales")
        assert q.scales.numpy().tobytes() == scales.tobytes(), case
        if q.format.has_global:
            assert q.global_.numpy().tobytes() == fixture[case + ".global"].tobytes(), case
        checked += 1
    assert checked >= 1


@pytest.mark.parametrize("name", ["modelopt_mxfp4", "modelopt_mxfp8", "ct_mxfp4"])
def test_values_of_stored_parts_are_the_exporters(name):
    fixture = Fixture(DATA / "numerics" / f"{name}.safetensors")
    format = "mxfp8" if name.endswith("mxfp8") else "mxfp4"
    for case in fixture.cases():
        if case.startswith(("inf_", "nan_")):
            continue
        shape = fixture[case + ".input"].shape
        codes, scales = fixture[case + ".codes"], fixture[case + ".scales"]
        q = tessera.QuantizedTensor(format, shape, codes.reshape(shape[0], -1), scales)
        expected = fixture.as_f32(case + ".dequant")
        dtype = fixture.dtype_of(case + ".dequant") or "f32"
        values = tessera.dequantize(q, dtype).bits()
        if dtype == "bf16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        else:
            values = values.view(np.float32)
        assert np.array_equal(values.reshape(expected.shape), expected, equal_nan=True), case
