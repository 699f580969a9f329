"""Audit trees as a project holds them, healthy and damaged."""

import json
import os

import policy
from cases import record
from cases.lines import legacy, rounds, written

FOREIGN = "attestation-foreign-file"
DIVERGED = "attestation-aggregate-divergence"
SYMLINK = "attestation-symlink-refused"
PARTIAL = "attestation-line-partial"
BROKEN = "attestation-chain-broken"
MALFORMED = "attestation-line-malformed"


def project():
    """Two passes of two rounds and an on-the-spot record; the flat file in time."""
    groups = [rounds(2), rounds(2, "att-A-cart-C1-v1", pass_id="p2", context="cart/list"),
              rounds(1, "att-A-checkout-v1", pass_id="p3", attested_by_role="init", kind="on-the-spot", clause_id="")]
    return {policy.encode_attestation_path(group[0])["path"]: written(group) for group in groups}


def flat_of(tree):
    """Every line once, the files in turn, as passes that ran side by side."""
    queues = [list(lines) for _, lines in sorted(tree.items())]
    out = []
    while any(queues):
        out += [queue.pop(0) for queue in queues if queue]
    return out


def build():
    """Name, files by path below `.ghyll`, and findings: code, path below the tree
    (empty for the flat file), line.

    The findings are by hand: nothing here asks any implementation.
    """
    names = sorted(project())
    cart, checkout, init = names

    def case(name, findings, tree=None, flat=None, extra=(), links=()):
        tree = project() if tree is None else tree
        flat = flat_of(project()) if flat is None else flat
        files = {"attestations/" + path: text(lines) for path, lines in tree.items()}
        files["attestations.jsonl"] = text(flat)
        files.update(extra)
        return {"name": name, "findings": findings, "files": files, "links": dict(links)}

    def text(lines):
        return lines if isinstance(lines, bytes) else b"".join(line + b"\n" for line in lines)

    def damaged(path, change):
        tree = project()
        tree[path] = change(tree[path])
        return tree

    whole = project()
    yield case("healthy", [])
    yield case("empty", [], tree={}, flat=[])
    yield case("legacy", [], flat=[legacy(drop=["pass_id", "unit"]), *flat_of(whole)])
    edited = damaged(checkout, lambda lines: [lines[0].replace(b"alice", b"malice"), lines[1]])
    yield case("line-edited", [(BROKEN, checkout, 1)], tree=edited, flat=flat_of(edited))
    gone = damaged(checkout, lambda lines: lines[1:])
    yield case("line-gone", [(BROKEN, checkout, 1)], tree=gone, flat=flat_of(gone))
    swapped = damaged(cart, lambda lines: lines[::-1])
    yield case("lines-swapped", [(BROKEN, cart, 1), (BROKEN, cart, 2)], tree=swapped, flat=flat_of(swapped))
    yield case("partial-line", [(PARTIAL, checkout, 3)],
               tree=damaged(checkout, lambda lines: text(lines) + b'{"attestation_id":"att'))
    yield case("flat-partial-line", [(PARTIAL, "", 6)], flat=text(flat_of(whole)) + b"{")
    junk = damaged(init, lambda lines: [*lines, b"junk"])
    yield case("junk-line", [(MALFORMED, init, 2)], tree=junk)
    moved = {path: lines for path, lines in whole.items() if path != cart}
    elsewhere = "v1/elsewhere/stratum-design/analyst__architect/p2.jsonl"
    moved[elsewhere] = whole[cart]
    yield case("file-moved", [("attestation-path-mismatch", elsewhere, 1),
                              ("attestation-path-mismatch", elsewhere, 2)], tree=moved)
    again = written(rounds(1, pass_id="p4", attested_by_role="init"))
    twice = {**whole, "v1/init/stratum-init/init/p4.jsonl": again}
    # Two clones that could not see each other: both stay.
    yield case("id-in-two-files", [], tree=twice, flat=flat_of(twice))
    kind = written([record(kind="x")])
    yield case("invalid-record", [("attestation-kind-invalid", checkout, 1),
                                  ("attestation-kind-invalid", "", 1)],
               tree={checkout: kind}, flat=kind)
    yield case("flat-behind", [(DIVERGED, "", 0)], flat=[line for line in flat_of(whole) if line not in whole[init]])
    yield case("flat-ahead", [(DIVERGED, "", 6)],
               flat=flat_of(whole) + written([record(pass_id="p9", attestation_id="att-x-v1")]))
    yield case("foreign-file", [(FOREIGN, "notes.txt", 0)], extra={"attestations/notes.txt": b"hello\n"})
    yield case("foreign-depth", [(FOREIGN, "v1/p1.jsonl", 0)], extra={"attestations/v1/p1.jsonl": b""})
    yield case("symlink-file", [(SYMLINK, "v1/init/stratum-init/init/p4.jsonl", 0)],
               links={"attestations/v1/init/stratum-init/init/p4.jsonl": "p3.jsonl"})
    yield case("symlink-directory", [(SYMLINK, "v2", 0)], links={"attestations/v2": "v1"})


def write(root):
    """One project a case, with what is expected of it beside `.ghyll`."""
    for case in build():
        home = root / case["name"]
        for path, data in case["files"].items():
            file = home / ".ghyll" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        (home / ".ghyll" / "attestations").mkdir(exist_ok=True)
        for path, target in case["links"].items():
            os.symlink(target, home / ".ghyll" / path)
        findings = [
            {"code": code, "path": "attestations/" + path if path else "attestations.jsonl", "line": line}
            for code, path, line in case["findings"]
        ]
        (home / "findings.json").write_text(json.dumps(findings, indent=1) + "\n")
