"""The cases of tests/data/text/openai through the openai package's client, which tools/serve_check installs: its models
in strict mode, its parser of streams, and its exceptions. Prints one line for bench/results/serve.md."""
import contextlib
import datetime
import json
import pathlib
import signal
import sys
import tempfile

import openai

import scripted_model
from answer_shapes import check_answer
from cli_test import ROOT
from http_client import MODEL, Server
from serve_test import CALL, TEXT

CASES = json.loads((ROOT / "tests/data/text/openai/cases.json").read_text())
LONG = {"model": MODEL, "messages": [{"role": "user", "content": "Say hi."}], "max_tokens": 900, "stream": True,
        "extra_body": {"ignore_eos": True}}


def client_of(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="test", max_retries=0)


def ask(server, case):
    call = client_of(server)
    for name in case["call"]["method"].split("."):
        call = getattr(call, name)
    return call(**case["call"]["arguments"])


def validate(case, answer):
    value = answer.to_dict()
    if "loose" not in case:
        type(answer).model_validate(value, strict=True)
    return value


def check_answered(server, case):
    answer = ask(server, case)
    if "stream" in case["response"]:
        chunks = [validate(case | {"loose": ""} if "completion" in case["name"] else case, chunk) for chunk in answer]
        return check_answer(case, chunks + ["[DONE]"])
    if case["name"] == "models_list":
        assert [m.id for m in answer.data] == case["client"]["ids"]
        return check_answer(case, {"object": answer.object, "data": [m.to_dict() for m in answer.data]})
    assert type(answer).__name__ == case["client"]["result"]
    check_answer(case, validate(case, answer))


def check_refused(server, case):
    expected = case["client"]
    try:
        answer = ask(server, case)
        chunks = list(answer) if "stream" in case["response"] else answer
    except openai.APIError as e:
        assert type(e).__name__ == expected["exception"], repr(e)
        for field in ("code", "param", "type"):
            assert getattr(e, field) == expected[field], repr(e)
        assert getattr(e, "status_code", None) == expected.get("status"), repr(e)
        return
    raise AssertionError(f"not refused: {chunks}")


@contextlib.contextmanager
def busy(server):
    with client_of(server).chat.completions.create(**LONG) as first:
        while server.metrics()["tessera_running_texts"] < 1:
            pass
        with client_of(server).chat.completions.create(**LONG):
            while server.metrics()["tessera_waiting_texts"] < 1:
                pass
            yield


@contextlib.contextmanager
def ending(server):
    with client_of(server).chat.completions.create(**LONG) as first:
        next(iter(first))
        server.process.send_signal(signal.SIGTERM)
        while server.raw("GET", "/health")[0] == 200:
            pass
        yield


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-serve-"))
    plain = sys.argv[1] if len(sys.argv) > 1 else scripted_model.write(folder / "plain", TEXT, longest=4)
    scripted_model.write(folder / "tools", CALL)
    scripted_model.write(folder / "broken", TEXT, broken=True)
    (folder / "keys").write_text("another\n")
    kinds = {  # the folder and options of the server that a case needs, and what has to go on meanwhile
        "chat_tools": (folder / "tools", ()), "chat_stream_error": (folder / "broken", ()),
        "error_internal": (folder / "broken", ()), "error_key": (plain, ("--api-key-file", folder / "keys")),
        "error_busy": (plain, ("--max-concurrent", 1, "--max-queue", 1), busy), "error_shutdown": (plain, (), ending),
        "error_large_body": (plain, ("--max-body", 64)),
    }
    shared = Server(plain, log=folder / "log")
    held = 0
    cases = [c for c in CASES if "call" in c]
    for case in cases:
        kind = kinds.get(case["name"])
        server = Server(kind[0], *kind[1], log=folder / case["name"]) if kind else shared
        try:
            with kind[2](server) if kind and len(kind) > 2 else contextlib.nullcontext():
                (check_refused if "exception" in case["client"] else check_answered)(server, case)
            held += 1
        except Exception as e:
            print(f"{case['name']}: {type(e).__name__}: {e}", file=sys.stderr)
        finally:
            if kind:
                server.end(signal.SIGKILL)
    shared.end()
    print(f"| {datetime.date.today()} | openai {openai.__version__} | {pathlib.Path(plain).name} | {held} of {len(cases)} |")
    return held != len(cases)


if __name__ == "__main__":
    sys.exit(main())
