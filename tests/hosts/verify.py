#!/usr/bin/env python3
"""Verifies an audit tree with the policy component and nothing else of ghyll.

    verify.py [--component FILE] DIR

DIR is a project (with `.ghyll` in it). Every line of the tree and of the flat
file is judged by the component's `check-lines`; what is left to this script is
what only a host can see: links, files that have no place, and lines that stand
in one surface and not in the other. It knows no index, so it finds what `ghyll
engine verify-attestations` finds without one. Nothing is changed.

Prints the same JSON. Exit status: 0 all is well, 1 it is not, 3 no tree.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "python"))

from ghyll_policy import Policy  # noqa: E402
from judge import COMPONENT  # noqa: E402

TREE = "attestations"
FLAT = "attestations.jsonl"
LIMITS = {"max_residue_bytes": 0}
CHUNK = 256 << 10
# v<N>/<context>/stratum-<S>/<role-pair>/<pass-id>.jsonl
PLACES = [r"v(0|[1-9][0-9]*)", r".+", r"stratum-.+", r".+", r".+\.jsonl"]


class Verifier:
    def __init__(self, policy, home):
        self.policy = policy
        self.home = home
        self.issues = []
        self.warnings = []
        self.files = 0
        self.records = {"tree": 0, "flat": 0}
        self.identities = set()
        # The lines of each surface that should stand in the other, by hash.
        self.seen = {"tree": collections.Counter(), "flat": collections.Counter()}
        self.where = {"tree": {}, "flat": {}}

    def run(self):
        self.walk(TREE, 0)
        if os.path.islink(self.home / FLAT):
            self.report("flat", "attestation-symlink-refused", FLAT)
        elif (self.home / FLAT).exists():
            self.check("flat", FLAT, "flat")
        self.compare("tree", "flat")
        self.compare("flat", "tree")

    def report(self, surface, code, path, line=0, identity="", message="", to=None):
        found = {"code": code, "surface": surface, "path": path, "line": line,
                 "attestation_id": identity, "message": message}
        (self.issues if to is None else to).append(found)

    def walk(self, folder, depth):
        for entry in sorted(os.scandir(self.home / folder), key=lambda entry: entry.name):
            path = folder + "/" + entry.name
            place = re.fullmatch(PLACES[depth], entry.name)
            if entry.is_symlink():
                self.report("tree", "attestation-symlink-refused", path)
            elif place and depth < 4 and entry.is_dir():
                self.walk(path, depth + 1)
            elif place and depth == 4 and entry.is_file():
                self.files += 1
                self.check("tree", path, {"tree": path[len(TREE) + 1:]})
            else:
                self.report("tree", "attestation-foreign-file", path)

    def check(self, name, path, surface):
        """Every line of a file, chunk after chunk."""
        cursor = {"surface": surface, "bytes": 0, "lines": 0, "chain": "", "skipped": 0, "at_end": False}
        rest = b""
        with open(self.home / path, "rb") as file:
            while not cursor["at_end"]:
                chunk = file.read(CHUNK)
                rest += chunk
                cursor["at_end"] = not chunk
                consumed = None
                # One call judges so many lines and no more.
                while consumed != 0:
                    checked = self.policy.call("records", "check-lines", rest, cursor, LIMITS)
                    start = 0
                    for line in checked["lines"]:
                        # An overlong line began in a chunk that is gone: it is
                        # no record, and its bytes are not needed.
                        end = line["offset"] + line["length"] - cursor["bytes"]
                        self.judged(name, path, line, rest[start:end])
                        start = end
                    cursor = {**checked["cursor"], "at_end": cursor["at_end"]}
                    consumed = checked["consumed"]
                    rest = rest[consumed:]

    def judged(self, name, path, line, data):
        rec = line["rec"] or {}
        identity = rec.get("attestation_id", "")
        for faults, to in ((line["problems"], self.issues), (line["warnings"], self.warnings)):
            for fault in faults:
                self.report(name, fault["code"], path, line["number"], identity, fault["detail"], to)
        if not rec:
            return
        self.records[name] += 1
        if name == "tree":
            if identity in self.identities:
                message = "another record of the tree has the same id"
                self.report(name, "attestation-duplicate", path, line["number"], identity, message)
            self.identities.add(identity)
        if name == "flat" and not rec["pass_id"] and not line["problems"]:
            return  # From before passes: it lives in the flat file alone.
        digest = hashlib.sha256(data).digest()
        self.seen[name][digest] += 1
        self.where[name].setdefault(digest, []).append((path, line["number"], identity))

    def compare(self, here, there):
        """Lines that stand here more often than there. A line that the flat file
        lacks has no place in it: line 0."""
        for digest, count in (self.seen[here] - self.seen[there]).items():
            for _, number, identity in self.where[here][digest][-count:]:
                message = "the line is not in the %s" % {"tree": "audit tree", "flat": "flat file"}[there]
                place = number if here == "flat" else 0
                self.report("flat", "attestation-aggregate-divergence", FLAT, place, identity, message)


def main():
    arguments = argparse.ArgumentParser(description="Verifies an audit tree with the policy component.")
    arguments.add_argument("project", type=pathlib.Path, metavar="DIR")
    arguments.add_argument("--component", default=COMPONENT)
    options = arguments.parse_args()
    home = options.project / ".ghyll"
    if os.path.islink(home / TREE) or not (home / TREE).is_dir():
        print("verify.py: no audit tree in %s" % home, file=sys.stderr)
        return 3
    verifier = Verifier(Policy(options.component), home)
    verifier.run()
    print(json.dumps({
        "ok": not verifier.issues,
        "tree": {"files": verifier.files, "records": verifier.records["tree"]},
        "flat": {"records": verifier.records["flat"]},
        "issues": verifier.issues,
        "warnings": verifier.warnings,
    }, indent=1, ensure_ascii=False))
    return 1 if verifier.issues else 0


if __name__ == "__main__":
    sys.exit(main())
