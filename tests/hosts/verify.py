#!/usr/bin/env python3
"""Verifies an audit tree with the policy component and nothing else of ghyll.

    verify.py [--component FILE] DIR

DIR is a project (with `.ghyll` in it). Every line of the tree and of the flat
file is judged by the component's `check-lines`; what is left to this script is
what only a host can see: links, files that have no place, lines that stand in
one surface and not in the other, and whether the manifests that records name as
their subjects are those. It knows no index, so it finds what `ghyll
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

from ghyll_policy import Policy, check_lines  # noqa: E402
from judge import COMPONENT  # noqa: E402

TREE = "attestations"
FLAT = "attestations.jsonl"
LIMITS = {"max_residue_bytes": 0}
CHUNK = 256 << 10
SUBJECTS = "subjects"
PARTS = b"ghyll-subject-parts 1\n"
# Lists of parts inside each other, at most.
DEPTH_OF_PARTS = 32
# v<N>/<context>/stratum-<S>/<role-pair>/<pass-id>.jsonl
DEPTH = 5


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
        # The subjects that records name, each with those records.
        self.subjects = {}

    def run(self):
        self.walk(TREE, 0)
        if os.path.islink(self.home / FLAT):
            self.report("flat", "attestation-symlink-refused", FLAT)
        elif (self.home / FLAT).exists():
            self.check("flat", FLAT, "flat")
        self.compare("tree", "flat")
        self.compare("flat", "tree")
        self.check_subjects()

    def report(self, surface, code, path, line=0, identity="", message="", to=None):
        found = {"code": code, "surface": surface, "path": path, "line": line,
                 "attestation_id": identity, "message": message}
        (self.issues if to is None else to).append(found)

    def walk(self, folder, depth):
        entries = sorted(os.scandir(self.home / folder), key=lambda entry: entry.name)
        below = folder[len(TREE) + 1:]
        places = self.policy.call("paths", "belong", below, [printable(entry.name) for entry in entries])
        for entry, place in zip(entries, places):
            path = folder + "/" + entry.name
            if entry.is_symlink():
                self.report("tree", "attestation-symlink-refused", path)
            elif place and depth < DEPTH - 1 and entry.is_dir():
                self.walk(path, depth + 1)
            elif place and depth == DEPTH - 1 and entry.is_file():
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
                    checked = check_lines(self.policy, rest, cursor, LIMITS)
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
            if not line["problems"]:  # One that has some is told already.
                self.note_subject(path, line["number"], rec)
            if (path, identity) in self.identities:
                message = "another record of the file has the same id"
                self.report(name, "attestation-duplicate", path, line["number"], identity, message)
            self.identities.add((path, identity))
        if name == "flat" and not rec["pass_id"] and not line["problems"]:
            return  # From before passes: it lives in the flat file alone.
        digest = hashlib.sha256(data).digest()
        self.seen[name][digest] += 1
        self.where[name].setdefault(digest, []).append((path, line["number"], identity))

    def note_subject(self, path, number, rec):
        """Keeps which records name which subject."""
        subject = self.policy.call("hints", "decode-hint", rec["hint_json"])["subject"]
        if subject:
            self.subjects.setdefault(subject, []).append((path, number, rec["attestation_id"]))

    def check_subjects(self):
        """Whether the manifests kept are the ones that were judged, told once a
        damaged file.

        Losing one loses the list of files, never the verdict: a warning."""
        faults = {}
        for subject, places in sorted(self.subjects.items()):
            try:
                manifest_of(self.home / SUBJECTS, subject)
            except Damaged as damage:
                file = "%s/%s/%s" % (SUBJECTS, damage.name[:2], damage.name)
                faults.setdefault(file, (damage, []))[1].extend(places)
        if not os.path.lexists(self.home / SUBJECTS) and faults:
            message = "not there, and with it the lists of files that verdicts were about"
            self.report("tree", Lost.code, SUBJECTS, message=message, to=self.warnings)
            return
        for file, (damage, places) in sorted(faults.items()):
            path, number, identity = min(places)
            message = "the list of files that %s judged: %s (on record at %s:%d)" % (identity, damage, path, number)
            to = self.warnings if isinstance(damage, Lost) else self.issues
            self.report("tree", damage.code, file, 0, identity, message, to)

    def compare(self, here, there):
        """Lines that stand here more often than there. A line that the flat file
        lacks has no place in it: line 0."""
        for digest, count in (self.seen[here] - self.seen[there]).items():
            for _, number, identity in self.where[here][digest][-count:]:
                message = "the line is not in the %s" % {"tree": "audit tree", "flat": "flat file"}[there]
                place = number if here == "flat" else 0
                self.report("flat", "attestation-aggregate-divergence", FLAT, place, identity, message)


def printable(name):
    """A file's name as text; one that is none has no place anyway."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class Damaged(Exception):
    """A file of a manifest that is not what its name says."""

    code = "subject-corrupt"

    def __init__(self, name, why):
        super().__init__(why)
        self.name = name


class Lost(Damaged):
    """One that is not there."""

    code = "subject-missing"


def manifest_of(store, name, depth=0):
    """The lines of a manifest, or of a part of one: those of its file, or of
    its parts one after the other.

    A file of parts has, behind its first line, a line a part: the SHA-256 of
    the part's lines, two blanks, and the directory it is of. A part is kept
    like a manifest, and may be a file of parts itself."""
    path = store / name[:2] / name
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise Damaged(name, "not an ordinary file")
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise Lost(name, "it is not there") from None
    except OSError as cause:
        raise Damaged(name, str(cause)) from None
    if data.startswith(PARTS):
        parts = data[len(PARTS):].splitlines()
        if depth == DEPTH_OF_PARTS or not parts:
            raise Damaged(name, "no list of parts")
        data = b""
        for line in parts:
            part = line.partition(b"  ")[0].decode("ascii", "replace")
            if not re.fullmatch("[0-9a-f]{64}", part):
                raise Damaged(name, "not a part: %.80r" % line)
            data += manifest_of(store, part, depth + 1)
    if not data or hashlib.sha256(data).hexdigest() != name:
        raise Damaged(name, "its lines are not those that its name says")
    return data


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
