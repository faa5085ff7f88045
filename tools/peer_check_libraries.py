"""What compressed-tensors, transformers and Model Optimizer make of a checkpoint: the questions of tools/peer_check.py."""
import collections
import copy
import fnmatch
import json
import logging
import re
import subprocess
import sys
import warnings

import torch
from loguru import logger

logger.remove()
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import modelopt.torch.quantization as mtq
import transformers
from compressed_tensors.compressors import BaseCompressor, ModelCompressor
from compressed_tensors.compressors.format import infer_module_format
from compressed_tensors.compressors.mx_utils import decompress_mx_scale
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config
from compressed_tensors.quantization.lifecycle.forward import dequantize as ct_dequantize
from modelopt.torch.export import export_hf_checkpoint
from modelopt.torch.export.convert_hf_config import convert_hf_quant_config_format
from modelopt.torch.quantization.qtensor import FP8QTensor, MXFP4QTensor, MXFP8QTensor, NVFP4QTensor
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
from transformers.integrations.finegrained_fp8 import Fp8Dequantize

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
torch.set_num_threads(1)

F32_SCALES = "scales that bf16 may not hold stay f32; compressed-tensors takes them, transformers rounds them to the model's dtype"
# Model Optimizer's own recipes for our formats. Its FP8 has static activations, which need a forward run.
RECIPES = {"nvfp4": "W4A16_NVFP4_CFG", "mxfp4": "MXFP4_DEFAULT_CFG", "mxfp8": "MXFP8_DEFAULT_CFG",
           "fp8": "FP8_DEFAULT_CFG", "fp8_channel": "FP8_PER_CHANNEL_PER_TOKEN_CFG",
           "fp8_block": "FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG"}


class Folder:
    """A checkpoint as files: configuration and tensors."""

    def __init__(self, path):
        self.path = path
        self.config = json.loads((path / "config.json").read_text())
        self.declared = self.config.get("quantization_config", {})
        sidecar = path / "hf_quant_config.json"
        self.sidecar = json.loads(sidecar.read_text()) if sidecar.exists() else {}
        self.tensors = {}
        for file in sorted(path.glob("model*.safetensors")):
            self.tensors |= load_file(file)

    def quantized(self):
        names = (re.match(r"(.*)\.(weight|weight_packed)$", name) for name in self.tensors)
        return sorted({m[1] for m in names if m and any(m[1] + s in self.tensors for s in (".weight_scale", ".weight_scale_inv"))})

    def parts(self, module):
        prefix = module + "."
        return {n[len(prefix):]: t for n, t in self.tensors.items() if n.startswith(prefix) and "." not in n[len(prefix):]}


class Outcome:
    """What one case gave: a cell of the table for each question, and what went wrong."""

    def __init__(self, *names):
        self.names, self.cells, self.faults, self.notes = names, {}, [], []

    def ask(self, question, passed, cell, fault=""):
        self.cells[question] = cell if passed else f"**{cell}**"
        if not passed:
            self.faults.append(f"{question}: {fault or cell}")


def same_bits(a, b):
    if a is None or b is None or a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(a.contiguous().reshape(-1).view(torch.uint8), b.contiguous().reshape(-1).view(torch.uint8))


def compare_weights(outcome, question, theirs, ours, rounding=0.0):
    """theirs: module -> weight; ours: the folder that `tessera dequantize` made. rounding: allowed relative difference."""
    equal, by_value, close, wrong = 0, 0, 0, []
    for module, weight in theirs.items():
        mine = ours.tensors.get(module + ".weight")
        if same_bits(weight, mine):
            equal += 1
        elif mine is not None and mine.shape == weight.shape and torch.equal(mine, weight):
            by_value += 1
        elif rounding and mine is not None and mine.shape == weight.shape and ((weight - mine).abs() <= rounding * mine.abs()).all():
            close += 1
        else:
            wrong.append(module)
    extra = [f"{by_value} by value"] * bool(by_value) + [f"{close} within 2^-22"] * bool(close)
    cell = f"{equal}/{len(theirs)}" + "".join(", " + e for e in extra)
    allowed = by_value == 0 or rounding or question == "QTensor f32"
    outcome.ask(question, not wrong and bool(allowed), cell, f"{cell}; different: {', '.join(wrong[:3])}")


def linear_tree(folder):
    """Modules of the names in the file, each a Linear of its shape, so that a configuration can be applied to them. A
    tied model has an lm_head that the file has not."""
    shapes = {}
    for name, tensor in folder.tensors.items():
        module, _, part = name.rpartition(".")
        if part in ("weight", "weight_packed") and tensor.dim() == 2:
            shapes[module] = (tensor.shape[0], tensor.shape[1] * (2 if tensor.dtype == torch.uint8 else 1))
    if folder.config.get("tie_word_embeddings"):
        head = next(s for m, s in shapes.items() if m.endswith("embed_tokens"))
        shapes.setdefault("lm_head", head)
    root = torch.nn.Module()
    for module, (rows, columns) in shapes.items():
        if module.endswith("embed_tokens"):
            continue
        at = root
        *parents, leaf = module.split(".")
        for part in parents:
            if not hasattr(at, part):
                at.add_module(part, torch.nn.Module())
            at = getattr(at, part)
        at.add_module(leaf, torch.nn.Linear(columns, rows, bias=False, dtype=torch.bfloat16))
    return root


def shape_of(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def ask_compressed_tensors(outcome, folder, rounding, ours32, ours16):
    """What the library wants of a checkpoint with this declaration, and what it reads from the one there is."""
    config = QuantizationConfig.model_validate(folder.declared)
    tree = linear_tree(folder)
    apply_quantization_config(tree, config, run_compressed=False, show_progress=False)
    named = {n: m.quantization_scheme for n, m in tree.named_modules() if getattr(m, "quantization_scheme", None)}
    stored = folder.quantized()
    astray = sorted(set(named) ^ set(stored))
    outcome.ask("modules", not astray, f"{len(stored)}", f"declared and stored differ: {', '.join(astray[:4])}")

    ModelCompressor(quantization_config=config).compress_model(tree)
    wanted = {f"{n}.{part}": t for n in set(named) & set(stored) for part, t in tree.get_submodule(n).state_dict().items()}
    activations = ("input_scale", "input_global_scale", "input_zero_point")
    unlike, finer = [], 0
    for name, tensor in sorted(wanted.items()):
        there = folder.tensors.get(name)
        if name.endswith(activations):
            continue
        if there is not None and there.shape == tensor.shape and (there.dtype, tensor.dtype) == (torch.float32, torch.bfloat16):
            finer += 1
        elif there is None or shape_of(there) != shape_of(tensor):
            unlike.append(f"{name}: wants {shape_of(tensor)}, file has {shape_of(there) if there is not None else 'nothing'}")
    cell = f"{len(unlike)} differ" if unlike else f"{finer} scales f32" if finer else "as wanted"
    outcome.ask("layout", not unlike, cell, "; ".join(unlike[:3]))
    outcome.notes += [F32_SCALES] * bool(finer)

    exact, own, rounded = {}, {}, {}
    for module in sorted(set(named) & set(stored)):
        scheme, parts = named[module], folder.parts(module)
        kind = scheme.format or infer_module_format(torch.nn.Linear, scheme)
        compressor = BaseCompressor.get_value_from_registry(kind)
        own[module] = compressor.decompress(parts, scheme)["weight"].to(torch.bfloat16)
        if parts["weight_scale"].dtype == torch.float32:
            parts_rounded = parts | {"weight_scale": parts["weight_scale"].to(torch.bfloat16)}
            rounded[module + ".weight"] = compressor.decompress(parts_rounded, scheme)["weight"]
        codes, scale = parts.get("weight"), parts["weight_scale"]
        if "weight_packed" in parts:
            rows, half = parts["weight_packed"].shape
            codes = unpack_fp4_from_uint8(parts["weight_packed"], rows, 2 * half, dtype=torch.float32)
        scale = (decompress_mx_scale(scale) if scale.dtype == torch.uint8 else scale).float()
        exact[module] = ct_dequantize(codes.float(), scale, args=scheme.weights, dtype=torch.float32,
                                      global_scale=parts.get("weight_global_scale"))
    compare_weights(outcome, "f32", exact, ours32, rounding)
    compare_weights(outcome, "own bf16", own, ours16, 2 ** -7 if rounding else 0)
    return rounded


def load(path, **options):
    model, report = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16, output_loading_info=True, **options)
    for module in model.modules():
        module.quantization_enabled = False
    bad = [f"{kind} {', '.join(sorted(map(str, keys))[:2])} ({len(keys)})" for kind, keys in report.items() if keys]
    return model.eval(), bad


def logits(model):
    ids = torch.arange(3, 35)[None] % model.config.vocab_size
    with torch.no_grad():
        return model(ids).logits


def ask_transformers(outcome, folder, ours16, rounding=0.0, rounded=None, **options):
    """rounded: weights that the library makes otherwise than exactly, by name."""
    model, bad = load(folder.path, **options)
    outcome.ask("transformers", not bad, "loads" if not bad else "keys", "; ".join(bad))
    dense, _ = load(ours16.path)
    mine, theirs = dense.state_dict() | (rounded or {}), model.state_dict()
    different = [n for n, t in mine.items() if not same_bits(t, theirs.get(n))]
    close = rounding and all(n in theirs and ((mine[n] - theirs[n]).abs() <= 2 ** -7 * mine[n].abs()).all() for n in different)
    cell = f"{len(mine) - len(different)}/{len(mine)}" + f", {len(different)} within 2^-7" * bool(close and different)
    outcome.ask("its weights", not different or close, cell, f"different: {', '.join(different[:3])}")
    if close and different:
        return
    dense.load_state_dict(mine)
    a, b = logits(model), logits(dense)
    outcome.ask("logits", same_bits(a, b), "equal" if same_bits(a, b) else f"{(a - b).abs().max().item():.3g} apart")


def modelopt_algorithm(folder, module):
    """By hf_quant_config.json: the module's own entry or a parent's, or the one for all that are not excluded."""
    declared = folder.sidecar["quantization"]
    layers = declared.get("quantized_layers")
    if layers:
        name = module
        while name and name not in layers:
            name = name.rpartition(".")[0]
        return layers[name]["quant_algo"].upper() if name else None
    if any(fnmatch.fnmatchcase(module, pattern) for pattern in declared["exclude_modules"]):
        return None
    return declared["quant_algo"].upper()


def modelopt_decode(algorithm, parts):
    codes, scale = parts["weight"], parts["weight_scale"]
    packed = codes.dtype == torch.uint8
    shape = torch.Size([codes.shape[0], codes.shape[1] * (2 if packed else 1)])
    if "NVFP4" in algorithm:
        return NVFP4QTensor(shape, torch.float32, codes).dequantize(
            scale=scale, double_scale=parts["weight_scale_2"], block_sizes={-1: shape[1] // scale.shape[1]})
    if algorithm == "MXFP4":
        return MXFP4QTensor(shape, torch.float32, codes).dequantize(torch.float32, scale=scale, block_sizes={-1: 32}).reshape(shape)
    if algorithm == "MXFP8":
        return MXFP8QTensor(shape, torch.float32, codes).dequantize(scale=scale)
    tensor = FP8QTensor(shape, torch.float32, codes.float())
    if algorithm == "FP8_PB_WO":
        grid = scale.reshape(-(-shape[0] // 128), -(-shape[1] // 128))
        return tensor.dequantize(scale=grid, block_sizes={-1: 128, -2: 128})
    return tensor.dequantize(scale=scale[:, None] if algorithm.startswith("FP8_PER_CHANNEL") else scale)


def ask_modelopt(outcome, folder, rounding, ours32):
    expected = convert_hf_quant_config_format(folder.sidecar)
    differing = sorted(k for k in expected.keys() | folder.declared.keys() if expected.get(k) != folder.declared.get(k))
    outcome.ask("embedded", not differing, "as its converter" if not differing else "differs: " + ", ".join(differing))
    stored = folder.quantized()
    linears = [n for n, m in linear_tree(folder).named_modules() if isinstance(m, torch.nn.Linear)]
    astray = sorted({n for n in linears if modelopt_algorithm(folder, n)} ^ set(stored))
    outcome.ask("modules", not astray, f"{len(stored)}", f"declared and stored differ: {', '.join(astray[:4])}")
    exact = {m: modelopt_decode(modelopt_algorithm(folder, m), folder.parts(m)) for m in stored if modelopt_algorithm(folder, m)}
    compare_weights(outcome, "QTensor f32", exact, ours32, rounding)
    if folder.sidecar["quantization"].get("kv_cache_quant_algo"):
        caches = {n: shape_of(t) for n, t in folder.tensors.items() if re.search(r"\.[kv]_scale$", n)}
        unlike = [f"{n} {kind}" for n, kind in caches.items() if not re.search(r"\.([kv])_proj\.\1_scale$", n) or kind != "float32 []"]
        outcome.ask("cache scales", not unlike, f"{len(caches)}", f"wants k_proj.k_scale float32 [], file has {', '.join(unlike[:1])}")


# Why a tensor of Model Optimizer's own export may differ from ours.
def reason(name, form, both):
    leaf = name.split(".")[-2]
    if name.endswith(".input_scale"):
        return "input scales need calibration data"
    if leaf in ("in_proj_a", "in_proj_b"):
        return "it leaves in_proj_a and in_proj_b dense"
    if form == "fp8_block" and both and max(both[1].shape[:2]) <= 128:
        return "linears of one input share a scale if each is a single block"
    if form == "fp8" and ".experts." in name and leaf in ("gate_proj", "up_proj"):
        return "gate and up of an expert share an FP8 scale"
    return None


def ask_modelopt_export(outcome, source, form, folder, work):
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16)
    out = work / "modelopt-export"
    subprocess.run(["rm", "-rf", out], check=True)
    with open("/dev/null", "w") as null:
        stdout, sys.stdout = sys.stdout, null
        try:
            forward = (lambda m: logits(m)) if form == "fp8" else None
            mtq.quantize(model, copy.deepcopy(getattr(mtq, RECIPES[form])), forward)
            export_hf_checkpoint(model, export_dir=out)
        finally:
            sys.stdout = stdout
    theirs, ours = Folder(out), folder
    names = sorted(theirs.tensors.keys() | ours.tensors.keys())
    different = [n for n in names if not same_bits(theirs.tensors.get(n), ours.tensors.get(n))]
    why = collections.Counter()
    unexplained = []
    for name in different:
        weight = name.rpartition(".")[0] + ".weight"
        both = (name, theirs.tensors[weight]) if weight in theirs.tensors and name in ours.tensors else None
        cause = reason(name, form, both)
        if cause:
            why[cause] += 1
        else:
            unexplained.append(name)
    cell = f"{len(names) - len(different)}/{len(names)}"
    outcome.ask("its export", not unexplained, cell, f"{cell}; different: {', '.join(unexplained[:3])}")
    outcome.notes += [f"{n} tensors of its export differ: {cause}" for cause, n in why.items()]
    quantization = theirs.sidecar["quantization"], ours.sidecar["quantization"]
    keys = sorted(k for k in quantization[0].keys() | quantization[1].keys()
                  if k != "exclude_modules" and quantization[0].get(k) != quantization[1].get(k))  # what it does: "modules"
    text = "; ".join(f"{k}: {quantization[0].get(k)} there, {quantization[1].get(k)} here" for k in keys)
    outcome.ask("sidecar", not keys, "equal" if not keys else ", ".join(keys), text)


def ask_fp8_block(outcome, folder, rounding, ours32):
    rows, columns = folder.declared["weight_block_size"]
    theirs = {}
    for module in folder.quantized():
        parts = folder.parts(module)
        codes, scale = parts["weight"], parts["weight_scale_inv"]
        whole = all(n <= b or n % b == 0 for n, b in zip(codes.shape, (rows, columns)))
        if not whole:
            outcome.notes.append("transformers derives blocks from the grid of scales and cannot read partial ones")
            continue
        values = Fp8Dequantize(None).convert({"weight$": codes, "weight_scale_inv": scale.float()})["weight"]
        theirs[module] = values.float()
    compare_weights(outcome, "f32", theirs, ours32, rounding)
