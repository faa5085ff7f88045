#!/usr/bin/env python3
"""Checks what the documentation promises: links lead somewhere, indexes are whole, every package has its
reason, no work is left behind."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).parents[1]


def output(*command):
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()


faults = []
tracked = [root / name for name in output("git", "ls-files")]

pages = [path for path in tracked if path.suffix == ".md" and path.exists()]
for page in pages:
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if ":" not in target and not (page.parent / target).exists():
            faults.append(f"{page.relative_to(root)}: link to {target}, which is not there")

for index in (root / "docs").glob("*/README.md"):
    for page in index.parent.glob("*.md"):
        if page != index and f"]({page.name}" not in index.read_text():
            faults.append(f"{index.relative_to(root)}: does not list {page.name}")

reasons = (root / "docs/reference/dependencies.md").read_text()
for package in output("tools/install", "--list"):
    if f"`{package}`" not in reasons:
        faults.append(f"docs/reference/dependencies.md: no reason for `{package}`, which tools/install installs")

unfinished = re.compile(r"\b(TO" r"DO|FIX" r"ME)\b")
for path in tracked:
    if path.suffix in {".h", ".cc", ".cu", ".cuh", ".py", ".cmake", ".txt", ".sh"} and path.exists():
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if unfinished.search(line):
                faults.append(f"{path.relative_to(root)}:{number}: {line.strip()}")

print("\n".join(faults) or f"docs: {len(pages)} pages")
sys.exit(bool(faults))
