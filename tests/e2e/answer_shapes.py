"""Checks answers of the server against shapes.json, the types of the openai client's models, and against the rules of
cases.json, which name in words what holds of any text."""
import json
import re

from cli_test import ROOT

SHAPES = json.loads((ROOT / "tests/data/text/openai/shapes.json").read_text())
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "any": object}


def check_shape(name, value, loose=False):
    """loose: nulls stand where the client's models do not declare them, as the case says."""
    assert isinstance(value, dict), value
    shape = SHAPES[name]
    assert set(value) <= set(shape), f"{name}: {set(value) - set(shape)}"
    for field, rule in shape.items():
        if field not in value:
            assert not rule["required"], f"{name}.{field} is missing"
        elif value[field] is None:
            assert rule["nullable"] or loose, f"{name}.{field} is null"
        else:
            check_type(f"{name}.{field}", rule["type"], value[field], loose)


def check_type(where, kind, value, loose):
    if kind.startswith("array of "):
        assert isinstance(value, list), where
        for item in value:
            if item is not None or not loose:
                check_type(where, kind[9:], item, loose)
    elif kind.startswith("'"):
        assert value in re.findall(r"'([^']+)'", kind), f"{where}: {value}"
    elif kind in TYPES:
        assert isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)), f"{where}: {value}"
    elif where.startswith("ChatCompletionChunk.") and kind == "Choice":
        assert set(value) == {"index", "delta", "finish_reason", "logprobs"}
        check_shape("ChoiceDelta", value["delta"])
        if value["logprobs"] is not None:
            check_shape("ChoiceLogprobs", value["logprobs"])
    elif kind == "Model" or kind in SHAPES:
        check_shape(kind, value, loose)
    else:
        raise AssertionError(f"{where}: no check for {kind}")


def check_usage(usage, answered):
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    limit = answered.get("max_completion_tokens") or answered.get("max_tokens")
    if limit:
        prompt = answered.get("prompt")
        prompts = len(prompt) if isinstance(prompt, list) and not isinstance(prompt[0], int) else 1
        assert usage["completion_tokens"] <= limit * prompts * (answered.get("n") or 1)


def check_answer(case, answer):
    request = case["request"].get("body") or {}
    if "body_text" in case["request"]:
        request = json.loads(case["request"]["body_text"])
    if isinstance(answer, list):
        return check_stream(case, request, answer)
    if case["name"] == "models_list":
        assert answer["object"] == "list"
        return [check_shape("Model", entry) for entry in answer["data"]]
    if case["name"] == "models_retrieve":
        return check_shape("Model", answer)
    is_chat = "chat" in case["request"]["path"]
    check_shape("ChatCompletion" if is_chat else "Completion", answer, "loose" in case)
    check_usage(answer["usage"], request)
    expected = case["response"]["json"]
    assert len(answer["choices"]) == len(expected["choices"])
    assert answer["id"].startswith("chatcmpl-" if is_chat else "cmpl-")
    for index, choice in enumerate(answer["choices"]):
        assert choice["index"] == index
        text = choice["message"]["content"] if is_chat else choice["text"]
        for stop in [request["stop"]] if isinstance(request.get("stop"), str) else request.get("stop") or []:
            assert stop not in text
        if choice["logprobs"] is not None:
            (check_chat_logprobs if is_chat else check_logprobs)(request, choice["logprobs"])
        assert (choice["logprobs"] is None) == (request.get("logprobs") is None or request["logprobs"] is False)
    if case["name"] in ("chat_length", "chat_max_tokens_old_name", "completion_plain", "completion_echo_only"):
        assert answer["choices"][0]["finish_reason"] == "length"
        assert answer["usage"]["completion_tokens"] == expected["usage"]["completion_tokens"]
    if request.get("echo"):
        assert answer["choices"][0]["text"].startswith(request["prompt"])


def check_chat_logprobs(request, logprobs):
    for entry in logprobs["content"]:
        assert entry["logprob"] <= 0 and len(entry["top_logprobs"]) == request.get("top_logprobs", 0)
        assert bytes(entry["bytes"]).decode(errors="replace") == entry["token"]
        falling = [t["logprob"] for t in entry["top_logprobs"]]
        assert falling == sorted(falling, reverse=True)


def check_logprobs(request, logprobs):
    count = len(logprobs["tokens"])
    assert len(logprobs["token_logprobs"]) == len(logprobs["text_offset"]) == count
    assert (logprobs["top_logprobs"] is None) == (request["logprobs"] == 0)
    assert logprobs["text_offset"] == sorted(logprobs["text_offset"])
    assert logprobs["text_offset"][0] == (0 if request.get("echo") else len(request["prompt"]))
    assert (logprobs["token_logprobs"][0] is None) == request.get("echo", False)


def check_stream(case, request, lines):
    is_chat = "chat" in case["request"]["path"]
    assert lines.pop() == "[DONE]"
    assert len({(c["id"], c["created"], c["model"]) for c in lines}) == 1
    for chunk in lines:
        # A null finish_reason is what servers send: see "loose" in completion_stream_pieces.
        check_shape("ChatCompletionChunk" if is_chat else "Completion", chunk, not is_chat)
    if (request.get("stream_options") or {}).get("include_usage"):
        last = lines.pop()
        assert last["choices"] == [] and all(c["usage"] is None for c in lines)
        check_usage(last["usage"], request)
    for index in range(request.get("n") or 1):
        mine = [c["choices"][0] for c in lines if c["choices"][0]["index"] == index]
        assert all(c["finish_reason"] is None for c in mine[:-1]) and mine[-1]["finish_reason"] in ("stop", "length")
        if is_chat:
            assert mine[0]["delta"] == {"role": "assistant", "content": ""} and mine[-1]["delta"] == {}
        if request.get("logprobs"):
            assert any(c["logprobs"] for c in mine)
