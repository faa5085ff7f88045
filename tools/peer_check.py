"""Compares what Tessera writes with what the libraries of others read; run by tools/peer_check.

usage: tools/peer_check [--tessera BINARY] [--models FOLDER] [--only TEXT] [--out FILE]

FOLDER holds bf16/MODEL and quantized/EXPORT, as tests/data/checkpoints does. Two flows, with `tessera dequantize` in f32
and in bf16 as the other side of each comparison:

1. `quantize` of every bf16 model to every format and dialect below, then for each dialect
   compressed-tensors  its configuration class names the modules that are quantized, no other; its layers want the names,
                       types and shapes that the file has; `dequantize` in f32 and its own decompressor give our weights;
                       transformers loads the folder with no key missing or unexpected, has the same weights, and the
                       same logits as a dense model from `tessera dequantize --dtype bf16`. Activations are left as they
                       are in this comparison (the declared FP8 schemes would round them to 8 bits).
   modelopt            its converter makes the embedded declaration from hf_quant_config.json; its QTensor classes give
                       our weights; its own export of the same model has the same tensors, byte for byte.
   fp8-block           transformers' Fp8Dequantize gives our weights; its model loads and has the same logits (without a
                       GPU transformers dequantizes such models while loading; nothing is bypassed).
2. `convert` of every export to every other dialect that can say it: decoded by that dialect's library, the weights are
   those of the export.

3. `quantize` and `convert` to torchao's, ComfyUI's and gpt-oss's dialects: torchao's unflattening and classes, comfy-kitchen's
   dequantize functions in f32, transformers' gpt-oss decoder and model.

Weights are compared bit for bit. Exceptions, counted apart: Model Optimizer's NVFP4 class reads code 8 as +0; a global
that one dialect divides by and the other multiplies with may have no exact reciprocal (at most 3 roundings, 2^-22).
Zeros of those two are equal by value. Where transformers rounds while loading (scales in f32 that it keeps in bf16), its
weights are held against compressed-tensors' own reading of the rounded scales.
"""
import argparse
import collections
import datetime
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tempfile

from transformers import CompressedTensorsConfig

from peer_check_layouts import ask_comfy, ask_gpt_oss, ask_torchao
from peer_check_libraries import (Folder, Outcome, ask_compressed_tensors, ask_fp8_block, ask_modelopt,
                                  ask_modelopt_export, ask_transformers)

FORMATS = ["nvfp4", "mxfp4", "mxfp8", "fp8", "fp8_channel", "fp8_block"]
# Dialects of other libraries, and the formats that they say.
LAYOUTS = {"torchao": ["nvfp4", "mxfp4", "mxfp8", "fp8", "fp8_channel"], "comfy-quant": ["nvfp4", "mxfp8", "fp8"]}
PEERS = ["torch", "compressed-tensors", "transformers", "nvidia-modelopt", "torchao", "comfy-kitchen", "safetensors", "accelerate"]
DIALECTS = {"llmcompressor": "compressed-tensors", "modelopt": "modelopt", "transformers": "fp8-block", "autoround": "", "quark": "",
            "torchao": "torchao", "gptoss": "mxfp4"}
EXPERTS = "transformers reads experts of mxfp4, fp8 and fp8_channel only: it drops globals and cannot spread the scales of blocks"


class Commands:
    def __init__(self, binary, work):
        self.binary, self.work, self.count = binary, work, 0

    def run(self, *arguments):
        """The folder that the command makes, or the line in which it says why not."""
        self.count += 1
        out = self.work / f"{self.count}"
        command, source, *options = arguments
        done = subprocess.run([self.binary, command, source, out, "--quiet", *options], capture_output=True, text=True)
        if done.returncode != 0:
            return None, f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1].removeprefix('tessera: ')}"
        return Folder(out), ""

    def dense(self, folder, dtype):
        made, why = self.run("dequantize", folder.path, "--dtype", dtype)
        if made is None:
            raise RuntimeError(f"dequantize: {why}")
        return made


def ask_reader(outcome, folder, dialect, commands, rounding=0.0, loads=True, ours32=None):
    ours32 = ours32 or commands.dense(folder, "f32")
    ours16 = commands.dense(folder, "bf16")
    experts = any(".experts." in m for m in folder.quantized())
    if dialect == "modelopt":
        ask_modelopt(outcome, folder, rounding, ours32)
        return
    if dialect == "compressed-tensors":
        rounded = ask_compressed_tensors(outcome, folder, rounding, ours32, ours16)
        if experts and outcome.names[1] not in ("mxfp4", "fp8", "fp8_channel"):
            outcome.notes.append(EXPERTS)
        elif loads:
            guarded(outcome, "transformers", ask_transformers, outcome, folder, ours16, rounding, rounded,
                    quantization_config=CompressedTensorsConfig(dequantize=True))
    if dialect == "fp8-block":
        ask_fp8_block(outcome, folder, rounding, ours32)
        if loads and not outcome.notes:
            guarded(outcome, "transformers", ask_transformers, outcome, folder, ours16)


def guarded(outcome, question, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except Exception as error:
        outcome.ask(question, False, type(error).__name__, f"{type(error).__name__}: {str(error)[:200]}")


def quantize_flow(models, commands, only):
    for source in models:
        for form in FORMATS:
            for dialect in ["compressed-tensors", "modelopt", *["fp8-block"] * (form == "fp8_block")]:
                outcome = Outcome(source.name, form, dialect)
                if only not in " ".join(outcome.names):
                    continue
                folder, why = commands.run("quantize", source, "--recipe", form, "--as", dialect)
                if folder is None:
                    outcome.ask("quantize", False, why)
                else:
                    guarded(outcome, "reading", ask_reader, outcome, folder, dialect, commands)
                    if dialect == "modelopt":
                        guarded(outcome, "its export", ask_modelopt_export, outcome, source, form, folder, commands.work)
                yield outcome


def layouts_flow(models, banks, exports, commands, only):
    """Quantized to and converted to torchao, comfy-quant and gpt-oss's dialect."""
    def cases():
        for dialect, forms in LAYOUTS.items():
            yield from ((m, f, dialect, ("quantize", m, "--recipe", f, "--as", dialect)) for m in models for f in forms)
            yield from ((e, "", dialect, ("convert", e, "--as", dialect)) for e in exports)
        yield from ((m, "mxfp4", "mxfp4", ("quantize", m, "--recipe", "mxfp4", "--as", "mxfp4")) for m in banks)
        yield from ((e, "", "mxfp4", ("convert", e, "--as", "mxfp4")) for e in exports if "gpt_oss-mxfp4" in e.name)

    for source, form, dialect, command in cases():
        outcome = Outcome(source.name, form, dialect)
        if only not in " ".join(outcome.names):
            continue
        folder, why = commands.run(*command)
        if folder is None:
            if why.startswith("exit 14"):
                continue
            outcome.ask(command[0], False, why)
        elif dialect in LAYOUTS:
            divides = not form and re.match("(llmcompressor|autoround).*(nvfp4|mixed)", source.name, re.I)
            guarded(outcome, "reading", ask_torchao if dialect == "torchao" else ask_comfy, outcome, folder,
                    commands.dense(folder, "f32"), 2 ** -22 if divides else 0.0)
        else:
            guarded(outcome, "reading", ask_gpt_oss, outcome, folder, commands.dense(folder, "bf16"))
        yield outcome


def convert_flow(exports, commands, only):
    for source in exports:
        export = Folder(source)
        for dialect in ["compressed-tensors", "modelopt", "fp8-block"]:
            outcome = Outcome(source.name, "", dialect)
            if only not in " ".join(outcome.names):
                continue
            folder, why = commands.run("convert", source, "--as", dialect)
            if folder is None:
                if not why.startswith("exit 14"):
                    outcome.ask("convert", False, why)
                    yield outcome
                continue
            globals_kept = DIALECTS[source.name.split("-")[0]] == dialect
            changed = not globals_kept and re.search("nvfp4|mixed", source.name, re.I)
            loads = not re.search("mixtral|_vl", source.name)
            banks = "gpt_oss" in source.name  # which `dequantize` puts together again, where the folder has experts
            ours = commands.dense(folder if banks else export, "f32")
            guarded(outcome, "reading", ask_reader, outcome, folder, dialect, commands, 2 ** -22 if changed else 0.0, loads, ours)
            yield outcome


def table(title, outcomes):
    questions = list(dict.fromkeys(q for o in outcomes for q in o.cells))
    lines = [f"## {title}", "", "| from | to | " + " | ".join(questions) + " |", "|---|---|" + "---|" * len(questions)]
    for o in outcomes:
        cells = " | ".join(o.cells.get(q, "–") for q in questions)
        lines.append(f"| {o.names[0]} | {o.names[1] or o.names[2]} | {cells} |")
    return lines + [""]


def report(quantized, converted, laid_out, binary):
    version = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.strip()
    peers = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in PEERS)
    everything = quantized + converted + laid_out
    faults = [(o, f) for o in everything for f in o.faults]
    lines = ["# Peer check", "",
             "What compressed-tensors, transformers, Model Optimizer, torchao and comfy-kitchen read from folders that Tessera wrote, against",
             "`tessera dequantize`. Made by `tools/peer_check`; the questions are explained at the head of `tools/peer_check.py`.", "",
             f"{datetime.date.today()}, {version}; {peers}; CPU, one thread.", "",
             f"{len(everything)} folders, {len(everything) - len({id(o) for o, _ in faults})} without a difference. "
             "A fraction counts weights (or tensors) that are equal bit for bit; bold is a difference.", ""]
    for dialect in ["compressed-tensors", "modelopt", "fp8-block"]:
        lines += table(f"`quantize --as {dialect}`", [o for o in quantized if o.names[2] == dialect])
    for dialect in ["compressed-tensors", "modelopt", "fp8-block"]:
        lines += table(f"`convert --as {dialect}`", [o for o in converted if o.names[2] == dialect])
    for dialect in [*LAYOUTS, "mxfp4"]:
        lines += table(f"`quantize` and `convert --as {dialect}`", [o for o in laid_out if o.names[2] == dialect])
    notes = collections.defaultdict(set)
    for o in everything:
        for note in o.notes:
            notes[re.sub(r"^\d+ tensors", "tensors", note)].add(o.names[0])
    lines += ["## Explained differences", ""] + [f"- {n} ({', '.join(sorted(where))})" for n, where in sorted(notes.items())] + [""]
    alike = collections.defaultdict(list)
    for o, fault in faults:
        alike[re.sub(r"\d+\.?\d*(e[+-]\d+)? apart|(nan|inf) apart", "apart", fault)].append(" ".join(filter(None, o.names)))
    lines += ["## Differences", ""]
    lines += [f"- {f} ({len(w)}: {', '.join(w[:4])}{', …' * (len(w) > 4)})" for f, w in alike.items()] or ["None."]
    return "\n".join(lines) + "\n", faults


def main():
    parser = argparse.ArgumentParser(prog="tools/peer_check")
    parser.add_argument("--tessera", default="build/release/tessera")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path("tests/data/checkpoints"))
    parser.add_argument("--only", default="", help="cases whose name holds this text; prints instead of writing")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("bench/results/peer_check.md"))
    options = parser.parse_args()
    models = sorted(options.models.glob("bf16/*"))
    exports = [e for e in sorted(options.models.glob("quantized/*")) if e.name.split("-")[0] in DIALECTS]
    models = [m for m in models if "vl" not in m.name and m.name != "gpt_oss"]
    with tempfile.TemporaryDirectory() as work:
        commands = Commands(options.tessera, pathlib.Path(work))
        done = [[], [], []]
        banks = [options.models / "bf16/gpt_oss"]
        flows = (quantize_flow(models, commands, options.only), convert_flow(exports, commands, options.only),
                 layouts_flow(models, banks, exports, commands, options.only))
        for into, flow in zip(done, flows):
            for outcome in flow:
                into.append(outcome)
                print(" ".join(filter(None, outcome.names)), "-", "; ".join(outcome.faults) or "equal", flush=True)
    text, faults = report(*done, options.tessera)
    if options.only:
        print(text)
    else:
        options.out.write_text(text)
    sys.exit(bool(faults))


main()
