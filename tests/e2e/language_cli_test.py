"""generate, chat, logits, perplexity, bench and explain as users and scripts meet them, on tiny models."""
import json
import shutil
import subprocess

import pytest

from cli_test import ROOT, TESSERA, answer, error, run
from model_files import read_safetensors

DATA = ROOT / "tests/data/checkpoints"
LLAMA = DATA / "bf16/llama"
NVFP4 = DATA / "quantized/llmcompressor-llama-NVFP4"
REFERENCE = json.loads((LLAMA / "reference.json").read_text())
PROMPT = ",".join(map(str, REFERENCE["prompts"]["p7"]))


def test_generate_answers_with_the_keys_of_the_contract_and_the_references_tokens():
    a = answer("generate", LLAMA, "--ids", PROMPT, "--compute", "f32", "--max-tokens", "16", "--ignore-end", "--logprobs")
    assert set(a) == {"text", "ids", "prompt_ids", "logprobs", "stop_reason", "usage", "timings", "warnings"}
    assert a["ids"] == REFERENCE["greedy"]["ids"][:16]
    assert a["usage"] == {"prompt_tokens": 7, "completion_tokens": 16, "total_tokens": 23}
    assert (a["stop_reason"], a["prompt_ids"]) == ("length", REFERENCE["prompts"]["p7"])
    assert set(a["timings"]) == {"load_s", "prompt_tokens_per_s", "decode_tokens_per_s"}
    assert len(a["logprobs"]) == 16 and all(p <= 0 for p in a["logprobs"])


def test_a_seed_gives_the_same_text_again_and_another_gives_another():
    made = [answer("generate", NVFP4, "--ids", PROMPT, "--temperature", "1", "--seed", seed, "--max-tokens", "24",
                   "--ignore-end")["ids"] for seed in ("1", "1", "2")]
    assert made[0] == made[1] != made[2]


def test_logits_writes_what_the_reference_computes(tmp_path):
    out = tmp_path / "l.safetensors"
    a = answer("logits", LLAMA, "--ids", PROMPT, "--out", out, "--hidden-states", "--compute", "f32")
    assert (a["tokens"], a["vocabulary"]) == (7, 128)
    tensors = read_safetensors(out)
    assert {n: t[1].shape for n, t in tensors.items()} == {"logits": (7, 128), "hidden.0": (7, 64), "hidden.1": (7, 64),
                                                        "hidden.2": (7, 64)}
    error("invalid", "logits", LLAMA, "--ids", PROMPT, "--out", out)  # it is there


def test_perplexity_says_how_sure_it_is_and_compares(tmp_path):
    ids = tmp_path / "ids.json"
    ids.write_text(json.dumps([(i * 37 + 11) % 128 for i in range(100)]))
    a = answer("perplexity", NVFP4, "--ids-file", ids, "--window", "32", "--stride", "16", "--against", LLAMA)
    assert a["tokens"] == 99
    assert a["confidence95"][0] < a["perplexity"] < a["confidence95"][1]
    assert abs(a["against"]["difference_nll"] - (a["mean_nll"] - a["against"]["mean_nll"])) < 1e-9
    same = answer("perplexity", LLAMA, "--ids-file", ids, "--window", "32", "--against", LLAMA)
    assert same["against"]["difference95"] == [0, 0]


def test_bench_and_explain_answer():
    a = answer("bench", NVFP4, "--prompt-tokens", "16", "--decode-tokens", "4", "--repeat", "1")
    assert a["decode_tokens_per_s"] > 0 and 0 < a["fraction_of_bandwidth"] < 2
    e = answer("explain", NVFP4)
    assert [g["weight"] for g in e["gemms"]].count("nvfp4") == 14 and e["gemms"][-1]["module"] == "lm_head"
    assert all(g["why"] in ("as stored", "dense on disk") for g in e["gemms"])


def test_chat_keeps_the_conversation(tmp_path):
    model = tmp_path / "m"
    shutil.copytree(LLAMA, model)
    vocabulary = {chr(33 + i): i for i in range(94)} | {f"<{i}>": i for i in range(94, 128)}
    (model / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
        "decoder": {"type": "Fuse"}, "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}))
    (model / "chat_template.jinja").write_text("{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}a:")
    done = subprocess.run([TESSERA, "chat", model, "--max-tokens", "3", "--json", "--quiet", "--system", "be"],
                          input="hi\nyes\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    messages = json.loads(done.stdout)["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user", "assistant"]
    # What was read before is not read again, and changes nothing: the last answer is that of a new conversation.
    (tmp_path / "c.json").write_text(json.dumps(messages[1:3]))
    again = subprocess.run([TESSERA, "chat", model, "--max-tokens", "3", "--json", "--quiet", "--system", "be",
                            "--messages", tmp_path / "c.json"], input="yes\n", capture_output=True, text=True)
    assert json.loads(again.stdout)["messages"] == messages


@pytest.mark.parametrize("code, arguments, told", [
    ("invalid", ("generate", LLAMA, "--ids", "1,2,999"), "token id 999 of a vocabulary of 128"),
    ("invalid", ("generate", LLAMA, "--ids", "1", "--max-tokens", "0"), "--max-tokens 0"),
    ("invalid", ("generate", LLAMA, "--ids", "1", "--temperature", "hot"), "--temperature hot: a number"),
    ("invalid", ("generate", LLAMA, "--ids", "1", "--compute", "f16"), "--compute f16: bf16 or f32"),
    ("invalid", ("generate", LLAMA, "--ids", ",".join(["7"] * 600)), "the model reads at most 512"),
    ("invalid", ("generate", LLAMA), "one --prompt"),
    ("not_found", ("generate", LLAMA, "--prompt", "hi"), "tokenizer"),
    ("unsupported", ("generate", DATA / "bf16/gpt_oss", "--ids", "1"), "GptOssForCausalLM"),
    ("invalid", ("perplexity", LLAMA, "--ids-file", "/dev/null", "--text", "x"), "one of --text and --ids-file"),
    ("unsupported", ("generate", LLAMA, "--ids", "1", "--device", "cuda"), "cuda"),
])
def test_what_cannot_run_is_refused_with_a_sentence(code, arguments, told):
    assert told in error(code, *arguments)["message"]


def edited(tmp_path, **changes):
    model = tmp_path / "m"
    shutil.copytree(LLAMA, model)
    config = json.loads((model / "config.json").read_text()) | changes
    (model / "config.json").write_text(json.dumps(config))
    return model


@pytest.mark.parametrize("code, changes, told", [
    ("not_found", {"num_hidden_layers": 3}, "the model needs 9 tensors that the checkpoint lacks: model.layers.2"),
    ("corrupt", {"num_hidden_layers": 1}, "the checkpoint has 9 tensors that the model has no place for"),
    ("shape", {"intermediate_size": 95}, "gate_proj.weight is [96, 64], the configuration asks for [95, 64]"),
    ("unsupported", {"rope_parameters": {"rope_type": "longrope"}}, "longrope"),
    ("unsupported", {"hidden_act": "relu6"}, "no activation 'relu6'"),
    ("invalid", {"hidden_size": -4}, "'hidden_size' is -4"),
])
def test_a_configuration_that_does_not_fit_the_weights_is_refused_before_they_are_read(tmp_path, code, changes, told):
    assert told in error(code, "generate", edited(tmp_path, **changes), "--ids", "1")["message"]
