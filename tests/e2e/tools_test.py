"""The tools that decide whether a change may land: each must refuse what it is there to refuse."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


HOUSE = {
    "CMakeLists.txt": 'tessera_registry(formats "const Format" tessera/numeric/formats)\n'
    'tessera_registry(dialects "const Dialect" tessera/io/dialects)\n',
    "tessera/floors.txt": "# comment\n0 base\n1 numeric\n3 io\n3 kernels\n",
    "tessera/base/error.h": "#include <string>\n",
    "tessera/numeric/format.cc": '#include "tessera/base/error.h"\n#include "tessera_registry/formats_each.inc"\n',
    "tessera/io/dialect.cc": '#include "tessera/numeric/format.h"\n#include "tessera_registry/dialects.inc"\n',
}


def floors(root, extra):
    write(root, HOUSE | extra)
    result = run("tools/floors.py", str(root))
    return result.returncode, result.stdout


def test_floors_accept_lower_floors_and_own_registries(tmp_path):
    assert floors(tmp_path, {}) == (0, "floors: 3 files, no include leads up or sideways\n")


def test_floors_refuse_an_upward_include(tmp_path):
    status, text = floors(tmp_path, {"tessera/base/json.h": '\n#include "tessera/numeric/format.h"\n'})
    assert status == 1
    assert text == "tessera/base/json.h:2: base (floor 0) may not include numeric (floor 1)\n"


def test_floors_refuse_a_sibling(tmp_path):
    status, text = floors(tmp_path, {"tessera/io/load.cu": '#include "tessera/kernels/cast.h"\n'})
    assert (status, text) == (1, "tessera/io/load.cu:1: io (floor 3) may not include kernels (floor 3)\n")


def test_floors_refuse_a_registry_from_below(tmp_path):
    status, text = floors(tmp_path, {"tessera/numeric/x.cc": '#include "tessera_registry/dialects.inc"\n'})
    assert (status, text) == (1, "tessera/numeric/x.cc:1: numeric (floor 1) may not include io (floor 3)\n")


def test_floors_refuse_an_include_that_hides_its_folder(tmp_path):
    status, text = floors(tmp_path, {"tessera/base/x.h": '#include "../io/dialect.h"\n'})
    assert status == 1 and '"../io/dialect.h" is neither' in text


def test_floors_refuse_a_folder_without_a_floor(tmp_path):
    status, text = floors(tmp_path, {"tessera/misc/x.h": ""})
    assert (status, text) == (1, "tessera/misc: no floor in tessera/floors.txt\n")


def counts(root, files):
    write(root, files)
    result = run("tools/count_tests.py", str(root / "ctest.xml"))
    assert result.returncode == 0, result.stderr
    return result.stdout.strip(), result.stderr


BINARY = (
    '<testsuites><testsuite><testcase name="A" classname="S" status="run" result="completed"/>'
    '<testcase name="B" classname="S" status="run" result="skipped"><skipped message="x.cc:1&#x0A;no GPU"/></testcase>'
    '<testcase name="D" classname="S" status="notrun" result="suppressed"/>{}</testsuite></testsuites>'
)


def test_counts_the_cases_of_a_binary_and_a_plain_entry_as_one(tmp_path):
    text, log = counts(tmp_path, {
        "ctest.xml": '<testsuite><testcase name="binary" status="run"/><testcase name="script" status="run"/></testsuite>',
        "test-results/binary.xml": BINARY.format(""),
    })
    assert text == "2 0 2"
    assert "skipped: 1 x no GPU" in log


def test_counts_failures_by_name(tmp_path):
    text, log = counts(tmp_path, {
        "ctest.xml": '<testsuite><testcase name="binary" status="fail"><failure/></testcase></testsuite>',
        "test-results/binary.xml": BINARY.format('<testcase name="C" classname="S" status="run"><failure/></testcase>'),
    })
    assert text == "1 1 2"
    assert "failed: S.C" in log


def test_counts_a_binary_that_fails_after_its_cases_passed(tmp_path):
    text, log = counts(tmp_path, {
        "ctest.xml": '<testsuite><testcase name="binary" status="fail"><failure/></testcase></testsuite>',
        "test-results/binary.xml": BINARY.format(""),
    })
    assert text == "1 1 2"
    assert "failed: binary" in log


def test_counts_a_binary_that_crashed_before_it_reported(tmp_path):
    text, _ = counts(tmp_path, {"ctest.xml": '<testsuite><testcase name="b" status="fail"><failure/></testcase></testsuite>'})
    assert text == "0 1 0"


def test_check_lists_its_sections_when_it_knows_no_such():
    result = run("tools/check", "everything")
    assert result.returncode == 2 and "there are: install format floors" in result.stdout
