"""Checkpoints of full size over sparse files: `inspect` is right and small. How long it takes is bench/results/inspect_35b.md."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TESSERA = os.environ.get("TESSERA", str(ROOT / "build/release/tessera"))


# A process's peak memory counts what its parent held when it was made, so a small one stands between.
LAUNCHER = """import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(child.pid, 0)
print(usage.ru_maxrss * 1024, file=sys.stderr)
os._exit(os.waitstatus_to_exitcode(status))"""


def run_alone(command):
    """Exit status, peak memory in bytes, standard output."""
    result = subprocess.run([sys.executable, "-c", LAUNCHER, *command], capture_output=True, text=True)
    return result.returncode, int(result.stderr.splitlines()[-1]), result.stdout


@pytest.mark.parametrize("layout, shard, dialect", [("ct", 5_000_000_000, "compressed-tensors"), ("ct", 0, "compressed-tensors"),
                                                    ("modelopt", 5_000_000_000, "modelopt")], ids=["ct", "ct in one file", "modelopt"])
def test_inspect_of_a_35b_checkpoint_is_right_and_small(tmp_path, layout, shard, dialect):
    made = json.loads(subprocess.run([ROOT / "tools/make_sparse_checkpoint", tmp_path / "model", layout, str(shard)],
                                     check=True, capture_output=True, text=True).stdout)
    assert made["files"] == (5 if shard else 1) and made["bytes"] > 20e9
    status, memory, text = run_alone([TESSERA, "inspect", tmp_path / "model", "--json", "--strict", "--quiet"])
    assert status == 0 and memory < 200e6
    a = json.loads(text)
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
