"""The package's face: names, stubs, and what there is."""

import ast
import inspect
import pathlib
import pickle
import re

import pytest

import tessera
from tessera import _tessera

STUB = ast.parse((pathlib.Path(tessera.__file__).parent / "_tessera.pyi").read_text())


def arguments_of(function):
    a = function.args
    return [x.arg for x in a.posonlyargs + a.args] + [x.arg for x in a.kwonlyargs]


def arguments_at_run_time(function):
    """From nanobind's own signature: "def quantize(array: object, ..., *, seed: int = 0) -> ..."."""
    ((text, *_),) = function.__nb_signature__
    (declared,) = ast.parse(re.sub(r"\\\d+", "None", text) + ": ...").body
    return arguments_of(declared)


def test_every_public_name_is_exported_and_there():
    assert sorted(tessera.__all__) == sorted(set(tessera.__all__))
    for name in tessera.__all__:
        assert hasattr(tessera, name)


def test_stubs_name_what_the_module_has():
    stubbed = {n.name for n in STUB.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    stubbed |= {n.target.id for n in STUB.body if isinstance(n, ast.AnnAssign)}
    found = {n for n in dir(_tessera) if not n.startswith("_")} | {"__version__"}
    assert stubbed == found


@pytest.mark.parametrize("function", [n for n in STUB.body if isinstance(n, ast.FunctionDef)], ids=lambda n: n.name)
def test_stubs_name_the_arguments(function):
    assert arguments_of(function) == arguments_at_run_time(getattr(_tessera, function.name))


@pytest.mark.parametrize("cls", [n for n in STUB.body if isinstance(n, ast.ClassDef)], ids=lambda n: n.name)
def test_stubs_name_the_members(cls):
    found = getattr(_tessera, cls.name)
    members = {n.name for n in cls.body}
    assert {m for m in members if not m.startswith("__")} == {m for m in vars(found) if not m.startswith("__")}
    for n in cls.body:
        member = vars(found)[n.name]
        is_property = any(getattr(d, "id", "") == "property" for d in n.decorator_list)
        assert is_property == isinstance(member, property)
        if not is_property and not n.name.startswith("__"):
            assert arguments_of(n) == arguments_at_run_time(member)


def test_every_error_code_has_its_class():
    classes = {c.code: c for c in tessera.Error.__subclasses__()}
    assert sorted(classes) == sorted(_tessera.error_codes)
    assert all(getattr(tessera, c.__name__) is c for c in classes.values())


def test_errors_say_what_was_wrong_and_what_there_is():
    with pytest.raises(tessera.NotFoundError, match="no format 'nvfp5'; there are: .*nvfp4_square") as caught:
        tessera.format("nvfp5")
    error = caught.value
    assert isinstance(error, (tessera.Error, LookupError))
    assert (error.code, error.notes, error.file, error.tensor) == ("not_found", [], None, None)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_formats_tell_their_facts():
    nvfp4 = tessera.format("nvfp4")
    assert (nvfp4.element, nvfp4.block, nvfp4.scale, nvfp4.has_global) == ("E2M1", (1, 16), "E4M3", True)
    assert nvfp4.bits_per_element == 4.5
    assert "modelopt" in nvfp4.writers
    assert nvfp4 == tessera.format("nvfp4") != tessera.format("mxfp4")
    assert len({f for f in tessera.formats()}) == len(tessera.formats())
    assert tessera.format("bf16").block is None and not tessera.format("bf16").is_scaled


def test_writers_and_dialects_are_listed():
    writers = {w.name: w for w in tessera.writers()}
    assert writers["compressed-tensors"].sense == "divide" and writers["modelopt"].sense == "multiply"
    assert writers["ggml"].supports("mxfp4") and not writers["ggml"].supports(tessera.format("nvfp4_square"))
    dialects = {d.name: d for d in tessera.dialects()}
    assert dialects["modelopt"].writer == "modelopt" and "nvfp4" in dialects["modelopt"].formats
    assert dialects["dense"].writer is None


def test_functions_have_contracts():
    for name in tessera.__all__:
        assert inspect.getdoc(getattr(tessera, name)), name
