"""The command as users and scripts meet it: what it prints, its exit statuses, and that OUT is whole or absent."""
import functools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

import model_files as files

ROOT = pathlib.Path(__file__).parents[2]
TESSERA = os.environ.get("TESSERA", str(ROOT / "build/release/tessera"))
DATA = ROOT / "tests/data/checkpoints"
ERRORS = {"usage": 2, "invalid": 10, "shape": 11, "corrupt": 12, "not_found": 13, "unsupported": 14, "resource": 15}


def run(*arguments, **options):
    return subprocess.run([TESSERA, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


def answer(*arguments, status=0):
    """The JSON document of a command that works; nothing but it may stand on standard output."""
    result = run(*arguments, "--json")
    assert result.returncode == status, result.stdout + result.stderr
    document = json.loads(result.stdout)
    for warning in document["warnings"]:
        assert set(warning) == {"code", "tensor", "message"}
    return document


def error(code, *arguments, **options):
    """The error of a command that fails, which the plain form says too, on standard error."""
    result = run(*arguments, "--json", **options)
    assert result.returncode == ERRORS[code], result.stdout + result.stderr
    found = json.loads(result.stdout)["error"]
    assert found["code"] == code and found["message"] and isinstance(found["notes"], list)
    assert set(found) <= {"code", "message", "notes", "file", "tensor"}
    plain = run(*arguments, **options)
    assert (plain.returncode, plain.stdout) == (ERRORS[code], "")
    assert plain.stderr.startswith("tessera: ")
    return found


def leftovers(folder):
    return [entry.name for entry in folder.iterdir() if ".partial-" in entry.name]


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    return files.write_model(tmp_path_factory.mktemp("dense") / "model", files.llama_tensors())


@pytest.fixture(scope="module")
def quantized(dense):
    out = dense.parent / "quantized"
    answer("quantize", dense, out, "--recipe", "nvfp4")
    return out


# What --help lists

COMMON = {"--help", "--json", "--quiet", "--strict", "--log", "--threads", "--device", "--cpu-tier", "--seed"}
RUNNING = {"--compute", "--kv-cache", "--cache-tokens", "--batch-tokens"}
SAMPLING = {"--max-tokens", "--temperature", "--top-k", "--top-p", "--min-p", "--typical-p", "--repetition-penalty",
            "--presence-penalty", "--frequency-penalty", "--stop"}
OWN = {
    "inspect": {"--tensors", "--fingerprint"},
    "quantize": {"--recipe", "--as", "--policy", "--set"},
    "convert": {"--as", "--requantize", "--fix"},
    "dequantize": {"--dtype"},
    "verify": {"--against", "--policy"},
    "tokenize": {"--text", "--file", "--decode", "--ids", "--no-special"},
    "template": {"--messages"},
    "generate": {"--prompt", "--prompt-file", "--ids", "--ignore-end", "--logprobs"} | SAMPLING | RUNNING,
    "chat": {"--system", "--messages"} | SAMPLING | RUNNING,
    "logits": {"--ids", "--out", "--hidden-states"} | RUNNING,
    "perplexity": {"--text", "--ids-file", "--window", "--stride", "--against"} | RUNNING,
    "serve": {"--host", "--port", "--name", "--api-key-file", "--max-concurrent", "--max-queue", "--max-body",
              "--max-answer", "--grace"} | RUNNING,
    "bench": {"--prompt-tokens", "--decode-tokens", "--repeat"} | RUNNING,
    "explain": {"--compute"},
    "formats": set(),
    "dialects": set(),
    "doctor": set(),
}


@pytest.mark.parametrize("command", OWN)
def test_help_lists_the_flags_of_the_contract(command):
    result = run(command, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert set(re.findall(r"^\s+(?:-h,)?(--[a-z-]+)", result.stdout, re.M)) == COMMON | OWN[command]


def test_help_lists_every_command():
    listed = run("--help").stdout.split("Subcommands:")[1]
    assert set(re.findall(r"^  ([a-z]+) ", listed, re.M)) >= set(OWN)


# Keys of the answers

def test_inspect_answers_with_the_keys_of_the_contract(quantized):
    a = answer("inspect", quantized, "--tensors")
    assert set(a) == {"path", "kind", "dialects", "exporter", "declared", "modules", "problems", "fingerprint",
                      "totals", "tensors", "warnings"}
    assert (a["kind"], a["dialects"], a["problems"]) == ("folder", ["compressed-tensors"], [])
    assert set(a["exporter"]) == {"name", "version"}
    assert a["declared"] == json.loads((quantized / "config.json").read_text())["quantization_config"]
    assert set(a["totals"]) == {"parameters", "bytes", "bits_per_weight", "by_format"}
    for module in a["modules"]:
        assert {"name", "format", "dialect", "shape", "bytes", "global", "activation"} <= set(module)
    q = next(m for m in a["modules"] if m["name"] == "model.layers.0.mlp.down_proj")
    assert (q["format"], q["dialect"], q["shape"]) == ("nvfp4", "compressed-tensors", [128, 256])
    assert q["bytes"] == 128 * 256 // 2 + 128 * 256 // 16 + 4
    assert q["global"]["sense"] == "divide" and q["global"]["value"] == pytest.approx(1 / q["global"]["stored"], rel=1e-7)
    assert q["activation"] is None
    assert all(set(t) == {"name", "dtype", "shape", "bytes", "file", "role", "module"} for t in a["tensors"])
    roles = {t["name"].removeprefix(q["name"] + "."): t["role"] for t in a["tensors"] if t["module"] == q["name"]}
    assert roles == {"weight_packed": "codes", "weight_scale": "scales", "weight_global_scale": "global"}
    stored = files.read_model(quantized)
    assert a["totals"]["bytes"] == sum(array.nbytes for _, array in stored.values()) == sum(t["bytes"] for t in a["tensors"])
    assert a["totals"]["parameters"] == sum(array.size for _, array in files.llama_tensors().values())


def test_inspect_reads_one_file_and_an_index(dense, tmp_path):
    assert answer("inspect", dense / "model.safetensors")["kind"] == "file"
    sharded = files.write_model(tmp_path / "sharded", files.llama_tensors(), shards=3)
    for path in (sharded, sharded / "model.safetensors.index.json"):
        a = answer("inspect", path, "--tensors")
        assert {pathlib.Path(t["file"]).name for t in a["tensors"]} == {f"model-{i:05}-of-00003.safetensors" for i in (1, 2, 3)}


def test_inspect_says_no_and_names_the_tensor_where_a_model_is_unusable():
    a = answer("inspect", DATA / "wild/ct_scale_missing", status=1)
    assert [p["code"] for p in a["problems"] if not p.get("harmless")] != []
    for problem in a["problems"]:
        assert {"code", "tensor", "message"} <= set(problem)
        assert problem["tensor"] in problem["message"]


def test_quantize_convert_and_dequantize_answer_with_what_they_did(dense, tmp_path):
    q = answer("quantize", dense, tmp_path / "q", "--recipe", "nvfp4")
    assert set(q) == {"out", "dialect", "bytes_before", "bytes_after", "modules", "warnings"}
    assert len(q["modules"]) == 14
    for m in q["modules"]:
        assert set(m) == {"name", "format", "writer", "shape", "bytes_before", "bytes_after"}
        assert m["bytes_before"] == 2 * m["shape"][0] * m["shape"][1]
    c = answer("convert", tmp_path / "q", tmp_path / "c", "--as", "modelopt")
    assert set(c) == {"out", "dialect", "converted", "requantized", "bytes_before", "bytes_after", "warnings"}
    assert (c["converted"], c["requantized"]) == (14, [])
    d = answer("dequantize", tmp_path / "c", tmp_path / "d", "--dtype", "f32")
    assert {"out", "dtype", "dequantized", "bytes_before", "bytes_after", "warnings"} <= set(d)
    assert (d["dtype"], d["dequantized"]) == ("f32", 14)


def test_verify_answers_with_a_verdict_for_each_module(dense, quantized):
    a = answer("verify", quantized, "--against", dense, "--policy", "compressed-tensors")
    assert set(a) == {"holds", "checked", "problems", "modules", "warnings"}
    assert (a["holds"], a["checked"], len(a["modules"])) == (True, 14, 14)
    for m in a["modules"]:
        assert {"name", "max_abs_error", "relative_error", "verdict", "bits_equal", "first_difference"} <= set(m)
        assert (m["verdict"], m["bits_equal"], m["first_difference"]) == ("exact", True, None)


def test_tables_have_a_json_form():
    formats = answer("formats")
    assert {f["name"] for f in formats["formats"]} >= {"bf16", "f32", "fp8", "fp8_block_e5m2", "mxfp8", "nvfp4_square"}
    assert {w["name"] for w in formats["writers"]} >= {"compressed-tensors", "modelopt", "nearest", "stochastic", "four-over-six"}
    assert {d["name"] for d in answer("dialects")["dialects"]} >= {"compressed-tensors", "modelopt", "fp8-block", "dense"}
    assert {"version", "cpu", "cuda"} <= set(answer("doctor"))
    version = json.loads(run("--version", "--json").stdout)["version"]
    assert run("--version").stdout == f"tessera {version}\n"


# Streams and statuses

def test_quiet_prints_the_answer_and_nothing_else(dense, tmp_path):
    result = run("quantize", dense, tmp_path / "q", "--recipe", "nvfp4", "--quiet")
    assert (result.returncode, result.stderr) == (0, "") and "14 weights to nvfp4" in result.stdout


def test_warnings_go_to_standard_error_and_into_the_json():
    case = DATA / "wild/modelopt_declared_fp8_disk_nvfp4"
    plain = run("inspect", case)
    assert plain.returncode == 0 and "declares" in plain.stderr and "declares" not in plain.stdout
    result = run("inspect", case, "--json")
    assert json.loads(result.stdout)["warnings"] and "declares" not in result.stderr
    assert run("inspect", case, "--quiet").stderr == ""


def test_strict_turns_a_contradiction_into_an_error(tmp_path):
    case = DATA / "wild/modelopt_declared_fp8_disk_nvfp4"
    answer("dequantize", case, tmp_path / "loose")
    e = error("corrupt", "dequantize", case, tmp_path / "out", "--strict")
    assert "--strict" in e["message"] and e["tensor"]
    assert error("corrupt", "inspect", case, "--strict")["tensor"] == e["tensor"]
    assert not (tmp_path / "out").exists() and leftovers(tmp_path) == []


@pytest.mark.parametrize("arguments", [
    [], ["bogus"], ["inspect"], ["inspect", "a", "b"], ["inspect", "a", "--bogus"], ["inspect", "a", "--threads", "many"],
    ["inspect", "a", "--threads", "-1"], ["inspect", "a", "--seed", "-4"], ["quantize", "a", "b"], ["convert", "a", "b"]], ids=" ".join)
def test_wrong_use_of_the_command_line_is_2_and_points_to_help(arguments):
    assert "--help" in error("usage", *arguments)["message"]


@pytest.mark.parametrize("arguments, listed", [
    (["quantize", "IN", "OUT", "--recipe", "nvfp5"], ["nvfp5", "nvfp4", "mxfp8"]),
    (["quantize", "IN", "OUT", "--recipe", "nvfp4", "--as", "modelop"], ["modelop", "compressed-tensors", "fp8-block"]),
    (["quantize", "IN", "OUT", "--recipe", "nvfp4", "--policy", "best"], ["best", "four-over-six", "modelopt"]),
    (["convert", "IN", "OUT", "--as", "nope"], ["nope", "compressed-tensors", "fp8-block"]),
    (["inspect", "absent"], ["absent"]),
], ids=["recipe", "dialect", "writer", "target", "path"])
def test_what_does_not_exist_is_13_and_what_does_is_listed(dense, tmp_path, arguments, listed):
    message = error("not_found", *[dense if a == "IN" else tmp_path / "out" if a == "OUT" else a for a in arguments])["message"]
    assert all(word in message for word in listed), message


@pytest.mark.parametrize("arguments, listed", [
    (["inspect", "IN", "--log", "loud"], ["loud", "warning"]),
    (["inspect", "IN", "--device", "tpu"], ["tpu", "cpu", "cuda"]),
    (["inspect", "IN", "--cpu-tier", "mmx"], ["mmx", "avx2", "reference"]),
    (["dequantize", "IN", "OUT", "--dtype", "f64"], ["f64", "f32", "bf16"]),
    (["verify", "IN", "--policy", "nearest"], ["--against"]),
], ids=["log", "device", "tier", "dtype", "policy alone"])
def test_values_that_no_run_could_accept_are_10(dense, tmp_path, arguments, listed):
    message = error("invalid", *[dense if a == "IN" else tmp_path / "out" if a == "OUT" else a for a in arguments])["message"]
    assert all(word in message for word in listed), message


def test_broken_containers_are_12_and_name_the_file(dense, tmp_path):
    whole = (dense / "model.safetensors").read_bytes()
    for name, blob in {"cut": whole[:-1], "long": whole + b"x", "empty": b"", "text": b"hello world, no header here"}.items():
        path = tmp_path / f"{name}.safetensors"
        path.write_bytes(blob)
        for command in (["inspect", path], ["dequantize", path, tmp_path / "out"], ["verify", path]):
            e = error("corrupt", *command)
            assert str(path) in e["message"] and e["file"] == str(path)
    config = tmp_path / "config"
    shutil.copytree(dense, config)
    (config / "config.json").write_text("{")
    assert error("corrupt", "inspect", config)["file"].endswith("config.json")
    assert not (tmp_path / "out").exists()


def test_damaged_scales_are_12_and_name_the_tensor(tmp_path):
    for case in ("nan_block_scale", "nan_global", "inf_global"):
        e = error("corrupt", "dequantize", DATA / "wild" / case, tmp_path / "out")
        assert "_scale" in e["tensor"] and e["tensor"] in e["message"]
        assert not (tmp_path / "out").exists() and leftovers(tmp_path) == []


def test_a_closed_standard_output_is_15():
    with open("/dev/full", "w") as full:
        assert subprocess.run([TESSERA, "formats"], stdout=full, stderr=subprocess.DEVNULL).returncode == 15


# Recipes

def quantize_with(dense, tmp_path, recipe, *more):
    (tmp_path / "r.yaml").write_text(recipe)
    return ["quantize", dense, tmp_path / "out", "--recipe", tmp_path / "r.yaml", *more]


@pytest.mark.parametrize("code, recipe, listed", [
    ("invalid", "rules:\n- match: '**'\n  weigth: nvfp4\n", ["rule 0", "weigth", "weight"]),
    ("invalid", "rule:\n- match: '**'\n  weight: nvfp4\n", ["'rule'", "rules"]),
    ("invalid", "rules:\n- match: '**.no_such_proj'\n  weight: nvfp4\n", ["rule 0", "no_such_proj", "model.embed_tokens"]),
    ("invalid", "rules:\n- match: '**'\n  weight: bf16\n", ["none"]),
    ("invalid", "rules: []\n", ["rules"]),
    ("invalid", "- 1\n", ["rules"]),
    ("not_found", "rules:\n- match: '**.q_proj'\n  weight: nvfp5\n", ["nvfp5", "nvfp4", "mxfp8"]),
    ("not_found", "rules:\n- match: '**.q_proj'\n  weight: {format: nvfp4, writer: best}\n", ["best", "four-over-six"]),
    ("unsupported", "rules:\n- match: '**.q_proj'\n  weight: nvfp4_square\n", ["nvfp4_square", "rule 0"]),
    ("invalid", "rules: [", ["YAML"]),
], ids=["rule key", "top key", "no match", "all dense", "no rules", "a list", "format", "writer", "dialect cannot say", "yaml"])
def test_a_wrong_recipe_is_refused_by_rule_and_what_exists_is_listed(dense, tmp_path, code, recipe, listed):
    e = error(code, *quantize_with(dense, tmp_path, recipe))
    assert all(word in e["message"] for word in listed), e["message"]
    assert not (tmp_path / "out").exists() and leftovers(tmp_path) == []


def test_weights_that_do_not_divide_into_blocks_are_11_in_a_recipe_and_stay_dense_in_a_plain_one(tmp_path):
    tensors = files.llama_tensors(1)
    tensors["model.layers.0.mlp.up_proj.weight"] = ("BF16", files.random_matrix(9, 64, 72))
    model = files.write_model(tmp_path / "model", tensors)
    e = error("shape", *quantize_with(model, tmp_path, "rules:\n- match: '**.up_proj'\n  weight: nvfp4\n"))
    assert all(word in e["message"] for word in ("model.layers.0.mlp.up_proj", "72", "16", "rule 0"))
    a = answer("quantize", model, tmp_path / "out", "--recipe", "nvfp4")
    assert [w["tensor"] for w in a["warnings"]] == ["model.layers.0.mlp.up_proj"]
    assert files.read_model(tmp_path / "out")["model.layers.0.mlp.up_proj.weight"][0] == "BF16"


def test_the_first_rule_that_matches_wins_and_set_changes_a_rule(dense, tmp_path):
    recipe = "rules:\n- match: '**.{q,k,v}_proj'\n  weight: fp8_channel\n- match: 'model.layers.*.**'\n  weight: nvfp4\n"
    command = quantize_with(dense, tmp_path, recipe, "--set", "rules.1.weight=mxfp8")
    found = {m["name"]: m["format"] for m in answer(*command)["modules"]}
    assert found["model.layers.1.self_attn.k_proj"] == "fp8_channel" and found["model.layers.1.mlp.up_proj"] == "mxfp8"
    assert not any("norm" in name or "embed" in name or name == "lm_head" for name in found)
    shutil.rmtree(tmp_path / "out")
    assert "rules.7" in error("invalid", *quantize_with(dense, tmp_path, recipe, "--set", "rules.7.weight=mxfp8"))["message"]


# Every format in every dialect

@functools.cache
def sayable():
    dialects = {d["name"]: {s["format"] for s in d["spellings"] if s["written"] and not s["bank"]}
                for d in answer("dialects")["dialects"]}
    dialects = {name: said for name, said in dialects.items() if said}  # "dense" and those that are only read say nothing
    scaled = [f["name"] for f in answer("formats")["formats"] if f["block"] is not None]
    says = lambda d, f: f in dialects[d] or (f == "fp8_block" and "fp8_block*" in dialects[d])
    return {f: {d: says(d, f) for d in dialects} for f in scaled}


def modules_of(folder):
    return {m["name"]: m for m in answer("inspect", folder)["modules"]}


@pytest.mark.parametrize("fmt", sayable())
def test_quantize_verify_convert_and_dequantize_agree(dense, tmp_path, fmt):
    original = files.read_model(dense)
    for dialect, says in sayable()[fmt].items():
        out = tmp_path / dialect
        command = ["quantize", dense, out, "--recipe", fmt, "--as", dialect]
        if not says:
            assert dialect in error("unsupported", *command, "--policy", "nearest")["message"]
            assert not out.exists()
            continue
        a = answer(*command)
        writer = a["modules"][0]["writer"]
        assert len(a["modules"]) == 14 and {m["format"] for m in a["modules"]} == {fmt}
        assert answer("verify", out, "--against", dense, "--policy", writer)["holds"]
        assert all(m["format"] == fmt and m["dialect"] == dialect for m in modules_of(out).values() if m["format"] != "bf16")

        answer("dequantize", out, tmp_path / f"{dialect}-f32", "--dtype", "f32", "--strict")
        stored, dequantized = files.read_model(out), files.read_model(tmp_path / f"{dialect}-f32")
        assert dequantized.keys() == original.keys()
        for m in a["modules"]:
            values = dequantized[m["name"] + ".weight"][1]
            np.testing.assert_array_equal(values, files.decode_module(stored, m["name"], fmt, dialect), m["name"])
            weight = files.f32_of_bf16(original[m["name"] + ".weight"][1])
            assert np.linalg.norm(values - weight) < 0.15 * np.linalg.norm(weight)
        for name in ("model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"):
            np.testing.assert_array_equal(dequantized[name][1], original[name][1])

        for target in (d for d, can in sayable()[fmt].items() if can and d != dialect):
            there, back = tmp_path / f"{dialect}-{target}", tmp_path / f"{dialect}-{target}-back"
            answer("convert", out, there, "--as", target)
            assert {m["dialect"] for m in modules_of(there).values() if m["format"] != "bf16"} == {target}
            answer("verify", there, "--against", dense, "--policy", writer)
            answer("convert", there, back, "--as", dialect)
            again = files.read_model(back)
            assert again.keys() == stored.keys()
            for name, (dtype, array) in stored.items():
                assert (again[name][0], again[name][1].tobytes()) == (dtype, array.tobytes()), name


# Models of other shapes

def test_sharded_and_whole_models_quantize_to_the_same_tensors(dense, quantized, tmp_path):
    sharded = files.write_model(tmp_path / "sharded", files.llama_tensors(), shards=4)
    files.write_safetensors(sharded / "consolidated.safetensors", files.llama_tensors(1))
    answer("quantize", sharded, tmp_path / "out", "--recipe", "nvfp4")
    one, other = files.read_model(quantized), files.read_model(tmp_path / "out")
    assert one.keys() == other.keys()
    assert all(one[n][1].tobytes() == other[n][1].tobytes() for n in one)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]


def test_tied_embeddings_stay_one_dense_tensor(tmp_path):
    model = files.write_model(tmp_path / "model", files.llama_tensors(1, tied=True), tied=True)
    answer("quantize", model, tmp_path / "q", "--recipe", "fp8_channel", "--as", "modelopt")
    answer("dequantize", tmp_path / "q", tmp_path / "d")
    for folder in ("q", "d"):
        tensors = files.read_model(tmp_path / folder)
        assert "lm_head.weight" not in tensors and tensors["model.embed_tokens.weight"][0] == "BF16"
        assert json.loads((tmp_path / folder / "config.json").read_text())["tie_word_embeddings"] is True
    assert "lm_head" in error("invalid", *quantize_with(model, tmp_path, "rules:\n- match: lm_head\n  weight: nvfp4\n"))["message"]


def test_dequantized_models_declare_nothing_and_quantize_again(dense, quantized, tmp_path):
    answer("dequantize", quantized, tmp_path / "d")
    assert "quantization_config" not in json.loads((tmp_path / "d/config.json").read_text())
    assert {m["format"] for m in modules_of(tmp_path / "d").values()} == {"bf16"}
    answer("quantize", tmp_path / "d", tmp_path / "q", "--recipe", "mxfp8")
    assert "convert" in error("invalid", "quantize", quantized, tmp_path / "out", "--recipe", "mxfp8")["message"]
    assert str(dense) in error("invalid", "dequantize", dense, tmp_path / "out")["message"]


def test_threads_and_tiers_give_the_same_files(dense, quantized, tmp_path):
    for i, more in enumerate((["--threads", "1"], ["--threads", "5"], ["--cpu-tier", "reference"])):
        answer("quantize", dense, tmp_path / str(i), "--recipe", "nvfp4", *more)
        for file in ("model.safetensors", "config.json"):
            assert (tmp_path / str(i) / file).read_bytes() == (quantized / file).read_bytes()


def test_a_seed_decides_stochastic_rounding(dense, tmp_path):
    for name, seed in {"a": 1, "b": 1, "c": 2}.items():
        answer("quantize", dense, tmp_path / name, "--recipe", "nvfp4", "--policy", "stochastic", "--seed", seed)
    a, b, c = ((tmp_path / name / "model.safetensors").read_bytes() for name in "abc")
    assert a == b and a != c


def test_verify_says_where_weights_are_wrong(dense, quantized, tmp_path):
    name = "model.layers.1.mlp.up_proj"

    def changed(suffix, change):
        shutil.copytree(quantized, tmp_path / suffix)
        tensors = dict(files.read_model(quantized))
        dtype, array = tensors[f"{name}.{suffix}"]
        tensors[f"{name}.{suffix}"] = (dtype, change(array.copy()))
        files.write_safetensors(tmp_path / suffix / "model.safetensors", tensors)
        return tmp_path / suffix

    def halve_one(scales):
        scales[5, 2] -= 8  # one exponent less
        return scales

    a = answer("verify", changed("weight_scale", halve_one), "--against", dense, "--policy", "compressed-tensors", status=1)
    other = {m["name"]: m for m in a["modules"] if m["verdict"] != "exact"}
    assert not a["holds"] and set(other) == {name}
    first = other[name]["first_difference"]
    assert set(first) == {"part", "index", "expected", "found"}
    assert (first["part"], first["index"]) == ("scales", 5 * 8 + 2)
    a = answer("verify", changed("weight_global_scale", lambda g: g * 2), "--against", dense, status=1)
    assert not a["holds"] and {m["name"]: m["verdict"] for m in a["modules"]}[name] == "wrong"


# OUT is whole or absent

def test_an_output_that_exists_is_refused_and_left_as_it_is(dense, quantized, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("mine")
    for command in (["quantize", dense, out, "--recipe", "nvfp4"], ["convert", quantized, out, "--as", "modelopt"],
                    ["dequantize", quantized, out]):
        assert "exists" in error("invalid", *command)["message"]
    assert [p.name for p in out.iterdir()] == ["mine"]
    assert "is a file" in error("invalid", "dequantize", quantized, out / "mine")["message"]
    shutil.rmtree(out)
    out.mkdir()  # an empty folder may be filled
    answer("dequantize", quantized, out)
    assert leftovers(tmp_path) == []


def test_the_input_is_never_the_output(dense, tmp_path):
    before = (dense / "model.safetensors").read_bytes()
    for out in (dense, f"{dense}/", f"{dense}/../model", dense / "model.safetensors"):
        error("invalid", "quantize", dense, out, "--recipe", "nvfp4")
    assert (dense / "model.safetensors").read_bytes() == before


def test_a_folder_that_cannot_be_written_is_refused(dense, tmp_path):
    assert "does not exist" in error("not_found", "quantize", dense, tmp_path / "no/out", "--recipe", "nvfp4")["message"]
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    command = [TESSERA, "quantize", str(dense), str(locked / "out"), "--recipe", "nvfp4", "--json"]
    if os.geteuid() == 0:  # the superuser may write anywhere, unless that is taken away
        command = ["setpriv", "--bounding-set", "-dac_override", *command]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 15, result.stdout + result.stderr
    assert str(locked) in json.loads(result.stdout)["error"]["message"]


def test_a_full_disk_is_15_and_leaves_nothing(dense, quantized, tmp_path):
    def with_small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    commands = (["quantize", dense, tmp_path / "out", "--recipe", "nvfp4"], ["convert", quantized, tmp_path / "out", "--as", "modelopt"],
                ["dequantize", quantized, tmp_path / "out"])
    for command in commands:  # SIGXFSZ stays ignored, so that the write fails as on a full disk
        error("resource", *command, preexec_fn=with_small_files, restore_signals=False)
        assert not (tmp_path / "out").exists() and leftovers(tmp_path) == []


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Large enough that the reference kernels work on it for some seconds."""
    folder = tmp_path_factory.mktemp("large") / "model"
    return files.write_model(folder, {f"layers.{i}.up_proj.weight": ("BF16", files.random_matrix(i, 2048, 4096)) for i in range(2)})


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_command_and_removes_what_was_written(large, tmp_path, number, status):
    out = tmp_path / "out"
    process = subprocess.Popen([TESSERA, "quantize", large, out, "--recipe", "nvfp4", "--cpu-tier", "reference", "--threads", "1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not leftovers(tmp_path):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(number)
    assert process.wait(30) == status
    assert list(tmp_path.iterdir()) == []


def test_a_signal_while_maxima_are_read_ends_the_command_too(large, tmp_path):
    process = subprocess.Popen([TESSERA, "quantize", large, tmp_path / "out", "--recipe", "nvfp4", "--cpu-tier", "reference",
                                "--policy", "modelopt"],  # its globals travel in metadata, so all maxima come first
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.1)
    assert process.poll() is None and not leftovers(tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 143
    assert list(tmp_path.iterdir()) == []


# Fingerprints and fixes

def test_inspect_names_exporters_and_faults():
    for flags, exporters in ([], ["modelopt", "quark"]), (["--fingerprint"], ["modelopt"]):  # of the same names
        f = answer("inspect", DATA / "quantized/modelopt-mini-NVFP4", *flags)["fingerprint"]
        assert set(f) == {"exporters", "faults"} and f["faults"] == []
        assert [e["name"] for e in f["exporters"]] == exporters
        assert all(set(e) == {"name", "versions", "evidence"} and e["evidence"] for e in f["exporters"])


def test_convert_fixes_and_says_when_there_is_nothing_to_fix(tmp_path):
    model = DATA / "quantized/modelopt-mini-NVFP4"
    a = answer("convert", model, tmp_path / "no", "--as", "modelopt", "--fix", "nan-block-scales", status=1)
    assert a["fixes"] == [{"name": "nan-block-scales", "findings": []}] and not (tmp_path / "no").exists()
    assert "nan-block-scales" in error("not_found", "convert", model, tmp_path / "no", "--as", "modelopt", "--fix", "nope")["message"]
    damaged = tmp_path / "damaged"
    shutil.copytree(model, damaged)
    tensors = files.read_model(model)
    name = next(n for n in tensors if n.endswith(".weight_scale"))
    data = bytearray((damaged / "model.safetensors").read_bytes())
    size = int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8:8 + size])[name]["data_offsets"]
    worst = next(i for i in range(8 + size + begin, 8 + size + end) if data[i] == 0x7e)
    data[worst] = 0x7f
    (damaged / "model.safetensors").write_bytes(data)
    faults = answer("inspect", damaged, "--fingerprint")["fingerprint"]["faults"]
    assert [(f["code"], f["tensor"], f["fix"]) for f in faults] == [("nan-block-scales", name, "nan-block-scales")]
    assert set(faults[0]) == {"code", "report", "tensor", "message", "fix"}
    error("corrupt", "convert", damaged, tmp_path / "out", "--as", "modelopt")
    a = answer("convert", damaged, tmp_path / "out", "--as", "modelopt", "--fix", "fnuz", "--fix", "nan-block-scales")
    assert [(f["name"], len(f["findings"])) for f in a["fixes"]] == [("fnuz", 0), ("nan-block-scales", 1)]
    for name, (_, array) in files.read_model(tmp_path / "out").items():
        assert array.tobytes() == tensors[name][1].tobytes(), name
