#!/usr/bin/env python3
"""Counts test cases in JUnit files: tools/count_tests.py FILE... prints "passed failed skipped".

Files are what ctest and pytest write. A ctest entry that is a GoogleTest binary has its own cases in
test-results/NAME.xml beside the file, and these are counted instead; when the binary failed though no case of it did
(it crashed, leaked or ran too long), that is one failure more. Failures and the reasons for skips go to standard error.
"""
import collections
import pathlib
import sys
import xml.etree.ElementTree as xml

outcomes = collections.Counter()
skips = collections.Counter()


def outcome(case):
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in {"notrun", "disabled"}:
        return "skipped"
    return "passed"


def count(case):
    result = outcome(case)
    outcomes[result] += 1
    name = ".".join(filter(None, [case.get("classname"), case.get("name")]))
    if result == "failed":
        print(f"failed: {name}", file=sys.stderr)
    elif result == "skipped":
        skip = case.find("skipped")
        reason = (skip.get("message") or skip.text or "") if skip is not None else ""
        skips[reason.strip().splitlines()[-1] if reason.strip() else "no reason given"] += 1
    return result


for file in map(pathlib.Path, sys.argv[1:]):
    for entry in xml.parse(file).getroot().iter("testcase"):
        cases = file.parent / "test-results" / f"{entry.get('name')}.xml"
        if not cases.exists():
            count(entry)
            continue
        results = [count(case) for case in xml.parse(cases).getroot().iter("testcase")]
        if outcome(entry) == "failed" and "failed" not in results:
            count(entry)

for reason, times in sorted(skips.items()):
    print(f"skipped: {times} x {reason}", file=sys.stderr)
print(outcomes["passed"], outcomes["failed"], outcomes["skipped"])
