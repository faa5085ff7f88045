"""Checkpoints: read, verified, written. Fixtures by the real exporters: tests/data/checkpoints/README.md."""

import hashlib
import json
import os
import pathlib
import signal
import struct

import numpy as np
import pytest
from fixtures import DATA, Fixture

import tessera

CHECKPOINTS = DATA / "checkpoints"
QUANTIZED = CHECKPOINTS / "quantized"
BF16 = CHECKPOINTS / "bf16" / "mini"
CT = QUANTIZED / "llmcompressor-mini-NVFP4"
MODELOPT = QUANTIZED / "modelopt-mini-NVFP4"


@pytest.mark.parametrize("folder", [CT, MODELOPT, QUANTIZED / "llmcompressor-mini-MXFP8"], ids=lambda p: p.name)
def test_values_are_the_exporters(folder):
    model = tessera.open(folder)
    expected = json.loads((folder / "expected.json").read_text())["weights"]
    assert not model.problems
    checked = 0
    for module in model.modules:
        if module.is_quantized:
            values = np.asarray(model.dequantize(module.name))
            assert hashlib.sha256(values.tobytes()).hexdigest() == expected[module.name + ".weight"]["sha256_f32"]
            assert np.array_equal(values, tessera.dequantize(model.load(module.name)))
            checked += 1
    assert checked == 7


def test_modules_tell_what_they_are():
    model = tessera.open(CT)
    stored = Fixture(CT / "model.safetensors")
    m = model.module("model.layers.0.mlp.up_proj")
    assert (m.name, m.format.name, m.dialect, m.is_quantized) == (
        "model.layers.0.mlp.up_proj",
        "nvfp4",
        "compressed-tensors",
        True,
    )
    assert m.shape == model.load(m.name).shape
    assert m.global_.sense == "divide" and m.global_.stored == stored[m.name + ".weight_global_scale"][0]
    assert m.global_.value == np.float32(1) / np.float32(m.global_.stored)
    assert m.activation.scheme == "static" and m.activation.scale > 0
    assert model.kind == "folder" and model.path == str(CT) and model.declared["quant_method"] == "compressed-tensors"
    embedding = model.module("model.embed_tokens")
    assert (embedding.format.name, embedding.global_, embedding.activation) == ("bf16", None, None)


def test_tensors_come_as_they_are_stored():
    model = tessera.open(CT)
    stored = Fixture(CT / "model.safetensors")
    assert [t.name for t in model.tensors] == stored.names()
    for t in model.tensors:
        array, expected = model.tensor(t.name), stored[t.name]
        assert array.dtype == t.dtype and array.shape == t.shape == expected.shape
        assert array.nbytes == t.nbytes == expected.nbytes and array.bits().tobytes() == expected.tobytes()
    roles = {t.role for t in model.tensors if t.module == "model.layers.0.mlp.up_proj"}
    assert {"codes", "scales", "global"} <= roles


def test_f8_tensors_come_as_bits():
    model = tessera.open(QUANTIZED / "llmcompressor-mini-FP8_DYNAMIC")
    (codes, *_) = [t for t in model.tensors if t.dtype == "f8_e4m3"]
    array = model.tensor(codes.name)
    assert array.bits().dtype == np.uint8 and array.bits().shape == codes.shape
    with pytest.raises(tessera.UnsupportedError):
        array.numpy()


def test_dense_modules_are_rounded_once():
    model = tessera.open(CT)
    stored = Fixture(CT / "model.safetensors").as_f32("model.embed_tokens.weight")
    assert np.array_equal(model.dequantize("model.embed_tokens"), stored)
    assert np.array_equal(model.dequantize("model.embed_tokens", "f16"), stored.astype(np.float16))
    assert model.dequantize("model.embed_tokens", "bf16").dtype == "bf16"
    with pytest.raises(tessera.InvalidError, match="is dense"):
        model.load("model.embed_tokens")


def test_rows_are_a_part():
    model = tessera.open(CT)
    name = "model.layers.0.mlp.up_proj"
    whole = np.asarray(model.dequantize(name))
    assert np.array_equal(tessera.dequantize(model.load(name, rows=(8, 16))), whole[8:16])
    with pytest.raises(tessera.ShapeError, match="rows 8 to 10000"):
        model.load(name, rows=(8, 10000))


def test_absent_names_are_not_found():
    model = tessera.open(CT)
    with pytest.raises(tessera.NotFoundError, match="named without '.weight'"):
        model.load("model.layers.0.mlp.up_proj.weight")
    with pytest.raises(tessera.NotFoundError, match="no tensor 'x'"):
        model.tensor("x")
    with pytest.raises(tessera.NotFoundError, match="/nowhere"):
        tessera.open("/nowhere")


def test_damage_is_listed_and_raised_by_name():
    model = tessera.open(CHECKPOINTS / "wild" / "ct_scale_missing")
    (problem, *_) = [p for p in model.problems if not p.harmless]
    broken = [m for m in model.modules if m.format is None]
    assert broken and broken[0].name in problem.tensor
    for attempt in (lambda: model.load(broken[0].name), lambda: model.dequantize(broken[0].name), model.require_usable):
        with pytest.raises(tessera.CorruptError) as caught:
            attempt()
        assert broken[0].name in caught.value.tensor


def test_damaged_scales_name_their_tensor_while_loading():
    model = tessera.open(CHECKPOINTS / "wild" / "nan_block_scale")
    errors = []
    for m in model.modules:
        try:
            model.dequantize(m.name)
        except tessera.CorruptError as e:
            errors.append(e)
    assert len(errors) == 1 and "NaN" in str(errors[0])
    assert tessera.verify(CHECKPOINTS / "wild" / "nan_block_scale")["holds"] is False


def test_modules_keep_their_checkpoint_alive():
    modules = tessera.open(CT).modules
    assert [m.name for m in modules] == sorted(m.name for m in modules)
    assert modules[1].format.name == "nvfp4"


def test_verify_answers_as_the_command():
    alone = tessera.verify(CT)
    assert alone["holds"] is True and alone["checked"] == 7 and alone["modules"] == [] and alone["problems"] == []
    report = tessera.verify(str(CT), BF16, "compressed-tensors")
    assert report["holds"] is True
    assert [m["verdict"] for m in report["modules"]] == ["exact"] * 7
    assert set(report["modules"][0]) == {
        "name", "format", "max_abs_error", "relative_error", "verdict", "writer", "bits_equal", "first_difference",
    }  # fmt: skip
    assert tessera.verify(CT, BF16, policy="modelopt")["holds"] is False
    with pytest.raises(tessera.InvalidError, match="against="):
        tessera.verify(CT, policy="modelopt")


def test_quantize_gives_the_exporters_bytes_and_comes_back(tmp_path):
    report = tessera.quantize_checkpoint(BF16, tmp_path / "q", "nvfp4", dialect="modelopt")
    assert len(report["modules"]) == 7 and report["bytes_after"] < report["bytes_before"]
    ours, theirs = tessera.open(tmp_path / "q"), tessera.open(MODELOPT)
    for m in theirs.modules:
        if m.is_quantized:
            assert np.array_equal(ours.load(m.name).codes, theirs.load(m.name).codes)
    report = tessera.dequantize_checkpoint(tmp_path / "q", tmp_path / "d", dtype="f32")
    assert report["dequantized"] == 7
    name = theirs.modules[1].name
    assert np.array_equal(tessera.open(tmp_path / "d").tensor(name + ".weight"), ours.dequantize(name))


def test_convert_keeps_codes(tmp_path):
    report = tessera.convert_checkpoint(CT, tmp_path / "m", "modelopt")
    assert report["converted"] == 7 and report["requantized"] == []
    before, after = tessera.open(CT), tessera.open(tmp_path / "m")
    for m in before.modules:
        if m.is_quantized:
            assert after.module(m.name).dialect == "modelopt"
            assert np.array_equal(before.load(m.name).codes, after.load(m.name).codes)


def test_recipes_are_formats_files_and_dictionaries(tmp_path):
    rules = {"rules": [{"match": "**.up_proj", "weight": "mxfp8"}, {"match": "**", "weight": "bf16"}]}
    file = tmp_path / "recipe.yaml"
    file.write_text(json.dumps(rules))  # JSON is YAML
    for i, recipe in enumerate((rules, file)):
        report = tessera.quantize_checkpoint(BF16, tmp_path / str(i), recipe)
        assert [(m["name"], m["format"]) for m in report["modules"]] == [("model.layers.0.mlp.up_proj", "mxfp8")]
    assert len(tessera.quantize_checkpoint(BF16, tmp_path / "f", tessera.format("mxfp4"))["modules"]) == 7
    with pytest.raises(tessera.InvalidError, match="rule"):
        tessera.quantize_checkpoint(BF16, tmp_path / "x", {"rules": [{"match": "nothing", "weight": "mxfp8"}]})
    assert not (tmp_path / "x").exists()


def test_gguf_files_are_imported(tmp_path):
    file = DATA / "gguf_import" / "tied.mixed.gguf"
    assert tessera.open(file).kind == "gguf"
    report = tessera.dequantize_checkpoint(file, tmp_path / "hf")
    assert report["dequantized"] > 0 and report["source"]
    assert (tmp_path / "hf" / "config.json").exists()


def write_large(folder: pathlib.Path, matrices: int) -> None:
    """A dense model of 8 MiB matrices."""
    folder.mkdir()
    header, at, size = {}, 0, 2048 * 2048 * 2
    for i in range(matrices):
        header[f"layers.{i}.up_proj.weight"] = {
            "dtype": "BF16",
            "shape": [2048, 2048],
            "data_offsets": [at, at + size],
        }
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    block = np.random.default_rng(5).standard_normal((2048, 2048)).astype(np.float32)
    bits = (block.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + bits * matrices)
    (folder / "config.json").write_text("{}")


def test_ctrl_c_ends_long_work_and_leaves_nothing(tmp_path):
    write_large(tmp_path / "in", 6)

    def press(signum, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            tessera.quantize_checkpoint(tmp_path / "in", tmp_path / "out", "nvfp4", policy="four-over-six", threads=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert os.listdir(tmp_path) == ["in"]
    report = tessera.quantize_checkpoint(tmp_path / "in", tmp_path / "out", "nvfp4")  # and the next call is well
    assert len(report["modules"]) == 6
