"""Checkpoints of full size over sparse files: `inspect` is right and small. How long it takes is bench/results/inspect_35b.md."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TESSERA = os.environ.get("TESSERA", str(ROOT / "build/release/tessera"))


@pytest.mark.parametrize("layout, shard, dialect", [("ct", 5_000_000_000, "compressed-tensors"), ("ct", 0, "compressed-tensors"),
                                                    ("modelopt", 5_000_000_000, "modelopt")], ids=["ct", "ct in one file", "modelopt"])
def test_inspect_of_a_35b_checkpoint_is_right_and_small(tmp_path, layout, shard, dialect):
    made = json.loads(subprocess.run([ROOT / "tools/make_sparse_checkpoint", tmp_path / "model", layout, str(shard)],
                                     check=True, capture_output=True, text=True).stdout)
    assert made["files"] == (5 if shard else 1) and made["bytes"] > 20e9
    child = subprocess.Popen([TESSERA, "inspect", tmp_path / "model", "--json", "--strict", "--quiet"], stdout=subprocess.PIPE)
    a = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0 and usage.ru_maxrss < 200e6 / 1024  # KiB; that of this child alone
    assert (a["dialects"], a["problems"], a["warnings"]) == ([dialect], [], [])
    assert (a["totals"]["bytes"], a["totals"]["parameters"]) == (made["bytes"], made["parameters"])
    found = {}
    for module in a["modules"]:
        found[module["format"]] = found.get(module["format"], 0) + 1
    assert {name: found[name] for name in made["quantized"]} == made["quantized"]
    # Globals behind offsets of more than 2^32 are those that were written: the last shards hold the last layers.
    fours = [m for m in a["modules"] if m["format"] == "nvfp4"]
    assert {m["global"]["value"] for m in fours} == {2 ** -13}
    scales = {m["activation"]["scale"] for m in a["modules"] if m["activation"] and m["activation"]["scheme"] == "static"}
    assert scales == {2 ** -5, 2 ** -6}
    expert = next(m for m in fours if m["name"] == "model.language_model.layers.39.mlp.experts.255.up_proj")
    assert expert["shape"] == [512, 2048]
