"""What torchao, comfy-kitchen and transformers' gpt-oss make of a checkpoint: further questions of tools/peer_check.py."""
import json

import comfy_kitchen
import torch
from peer_check_libraries import ask_transformers, compare_weights
from safetensors import safe_open
from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict
from transformers import Mxfp4Config
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

FP8 = {"float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}


def metadata_of(folder):
    found = {}
    for file in sorted(folder.path.glob("model*.safetensors")):
        with safe_open(file, "pt") as opened:
            found |= opened.metadata() or {}
    return found


def ask_torchao(outcome, folder, ours32, rounding=0.0):
    """Its own unflattening takes every tensor, and its classes decode to our weights."""
    tensors, left = unflatten_tensor_state_dict(dict(folder.tensors), metadata_of(folder))
    outcome.ask("unflatten", not left, f"{len(tensors)} tensors", f"left over: {', '.join(sorted(left)[:3])}")
    weights = {n.removesuffix(".weight"): t.dequantize(torch.float32) for n, t in tensors.items() if type(t) is not torch.Tensor}
    compare_weights(outcome, "f32", weights, ours32, rounding)


def ask_comfy(outcome, folder, ours32, rounding=0.0):
    """Each weight by the function that its note names, in f32, without the padding."""
    weights = {}
    for name, note in folder.tensors.items():
        if not name.endswith(".comfy_quant"):
            continue
        module = name.removesuffix(".comfy_quant")
        said, parts = json.loads(bytes(note.tolist())), folder.parts(module)
        if said["format"] == "nvfp4":
            weight = comfy_kitchen.dequantize_nvfp4(parts["weight"], parts["weight_scale_2"], parts["weight_scale"], torch.float32)
        elif said["format"] == "mxfp8":
            scales = parts["weight_scale"].view(torch.float8_e8m0fnu)
            weight = comfy_kitchen.dequantize_mxfp8(parts["weight"], scales, torch.float32)
        else:
            weight = comfy_kitchen.dequantize_per_tensor_fp8(parts["weight"].view(FP8[said["format"]]), parts["weight_scale"], torch.float32)
        rows, columns = said["orig_shape"]
        weights[module] = weight[:rows, :columns].contiguous()
    compare_weights(outcome, "f32", weights, ours32, rounding)


def ask_gpt_oss(outcome, folder, ours16):
    """transformers' own decoder gives our banks, and its model loads the folder with the logits of the dense one."""
    equal, banks = 0, [n.removesuffix("_blocks") for n in folder.tensors if n.endswith("_blocks")]
    for bank in banks:
        weight = convert_moe_packed_tensors(folder.tensors[bank + "_blocks"], folder.tensors[bank + "_scales"], dtype=torch.bfloat16)
        equal += torch.equal(weight, ours16.tensors[bank])
    outcome.ask("bf16", equal == len(banks), f"{equal}/{len(banks)} banks")
    ask_transformers(outcome, folder, ours16, quantization_config=Mxfp4Config(dequantize=True))
