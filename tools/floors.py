#!/usr/bin/env python3
"""Checks that the engine is built in floors: tools/floors.py [ROOT]

tessera/floors.txt gives each folder of tessera/ a number. A file may include its own folder and folders with a lower
number; folders with one number are siblings and may not include each other. tests/ and bench/ may include anything.
A quoted include is "tessera/FOLDER/..." or a registry, "tessera_registry/KIND.inc", which stands where its entries do.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
engine = root / "tessera"

floors = {}
for line in (engine / "floors.txt").read_text().splitlines():
    if line.strip() and not line.startswith("#"):
        number, folder = line.split()
        floors[folder] = int(number)

# tessera_registry(KIND "type" tessera/FOLDER/...); the path is quoted where it has a wildcard.
registries = dict(re.findall(r'^tessera_registry\((\w+) "[^"]*" "?tessera/(\w+)', (root / "CMakeLists.txt").read_text(), re.M))


def included_folder(include):
    """The folder of tessera/ that a quoted include reaches into; None when it is spelled in no allowed way."""
    if m := re.fullmatch(r"tessera/(\w+)/.+", include):
        return m[1]
    if m := re.fullmatch(r"tessera_registry/(\w+?)(_each)?\.inc", include):
        return registries.get(m[1])
    return None


faults = [f"tessera/{d.name}: no floor in tessera/floors.txt" for d in engine.iterdir() if d.is_dir() and d.name not in floors]
files = sorted(p for p in engine.rglob("*") if p.suffix in {".h", ".cc", ".cu", ".cuh"})
for path in files:
    here = path.relative_to(engine).parts[0]
    if here not in floors:
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if not include:
            continue
        there = included_folder(include[1])
        where = f"{path.relative_to(root)}:{number}"
        if there is None:
            faults.append(f'{where}: "{include[1]}" is neither "tessera/FOLDER/..." nor a registry')
        elif there not in floors:
            faults.append(f"{where}: folder {there} has no floor")
        elif there != here and floors[there] >= floors[here]:
            faults.append(f"{where}: {here} (floor {floors[here]}) may not include {there} (floor {floors[there]})")

print("\n".join(faults) or f"floors: {len(files)} files, no include leads up or sideways")
sys.exit(bool(faults))
