"""What an operator is asked, and how things asked for are named."""

import policy
from cases import Cases, repeat

SUBJECT = "5e" * 32


def build():
    out = Cases("hints")

    nothing = {"subject": "", "locations": [], "basis": "", "residue": ""}

    def synthesize(name, clause_id, concept, ref, arrow_id, **said):
        said = {**nothing, **said}
        out.add(
            "synthesize-hint",
            name,
            {
                "c": {
                    "clause_id": clause_id,
                    "concept": concept,
                    "depth_type_attestation_ref": ref,
                    **said,
                },
                "def": {
                    "id": arrow_id,
                    "source_role": "analyst",
                    "target_role": "architect",
                    "context": "checkout",
                    "stratum": "design",
                },
            },
            expect={
                "arrow_id": arrow_id,
                "clause_id": clause_id,
                "concept": concept,
                "attestation_ref": ref,
                **said,
            },
        )

    synthesize("hint: ordinary", "C1", "prices are right", "att-A-C1-v1", "A")
    synthesize("hint: everything empty", "", "", "", "")
    synthesize("hint: no ref", "C1", "prices are right", "", "A")
    synthesize("hint: spaces are kept", " C1 ", "  ", " r ", " A ")
    synthesize("hint: hostile words are kept", "C\0", '"}\n\u202e\x1b[2J', "../r", "A/../B")
    synthesize("hint: long concept", "C1", repeat("é", 40_000), "att-A-C1-v1", "A")

    synthesize("hint: a subject and what the producer says", "C1", "x", "att-A-C1-v1", "A",
               subject=SUBJECT, locations=["a.rs:1", ""], basis="tests pass", residue="none")
    synthesize("hint: a subject is not judged here", "C1", "x", "r", "A", subject="none")

    def hint(name, expect, arrow_id="", clause_id="", concept="", attestation_ref="", **said):
        out.add(
            "encode-hint",
            name,
            {
                "h": {
                    "arrow_id": arrow_id,
                    "clause_id": clause_id,
                    "concept": concept,
                    "attestation_ref": attestation_ref,
                    **nothing,
                    **said,
                }
            },
            expect=expect,
        )

    hint("hint text: empty", "{}")
    hint(
        "hint text: full",
        '{"arrow_id":"A","clause_id":"C1","concept":"x","attestation_ref":"att-A-C1-v1"}',
        "A", "C1", "x", "att-A-C1-v1",
    )
    hint("hint text: arrow only", '{"arrow_id":"A"}', arrow_id="A")
    hint("hint text: clause only", '{"clause_id":"C1"}', clause_id="C1")
    hint("hint text: concept only", '{"concept":"x"}', concept="x")
    hint("hint text: ref only", '{"attestation_ref":"r"}', attestation_ref="r")
    hint("hint text: first and last", '{"arrow_id":"A","attestation_ref":"r"}', "A", "", "", "r")
    hint("hint text: a space is not empty", '{"concept":" "}', concept=" ")
    hint("hint text: quotes and backslashes", '{"concept":"\\"\\\\\\""}', concept='"\\"')
    hint(
        "hint text: short escapes", '{"concept":"\\b\\f\\n\\r\\t"}', concept="\b\f\n\r\t"
    )
    hint("hint text: other controls", '{"concept":"\\u0000\\u001f\\u000b"}', concept="\0\x1f\v")
    hint(
        "hint text: nothing more is escaped",
        '{"concept":"/\x7f\x85é\u2028\ufeff🦊<>&\'"}',
        concept="/\x7f\x85é\u2028\ufeff🦊<>&'",
    )

    hint("hint text: subject only", '{"subject":"%s"}' % SUBJECT, subject=SUBJECT)
    hint("hint text: locations", '{"locations":["a\\"b","","é"]}', locations=['a"b', "", "é"])
    hint("hint text: basis and residue", '{"basis":"b","residue":"\\n"}', basis="b", residue="\n")
    hint(
        "hint text: every key",
        '{"arrow_id":"A","clause_id":"C1","concept":"x","attestation_ref":"r","subject":"%s",'
        '"locations":["a"],"basis":"b","residue":"c"}' % SUBJECT,
        "A", "C1", "x", "r", subject=SUBJECT, locations=["a"], basis="b", residue="c",
    )

    def read(name, text, code=None, **expect):
        empty = dict.fromkeys(policy.HINT_KEYS, "")
        whole = None if code else {**empty, "locations": [], **expect}
        out.add("decode-hint", "hint read: " + name, {"text": text}, expect=whole, code=code)

    bad = "attestation-hint-malformed"
    read("empty", "{}")
    read("four keys", '{"arrow_id":"A","clause_id":"C1","concept":"x","attestation_ref":"r"}',
         arrow_id="A", clause_id="C1", concept="x", attestation_ref="r")
    read("every key, spaced, in another order",
         '{ "residue":"d", "locations":["a", "b"], "basis":"c", "subject":"%s" }' % SUBJECT,
         subject=SUBJECT, locations=["a", "b"], basis="c", residue="d")
    read("escapes", '{"concept":"\\u0041\\n\\"\\ud83e\\udd8a"}', concept='A\n"🦊')
    read("an escaped key", '{"\\u0062asis":"x"}', basis="x")
    read("unknown keys", '{"x":{"deep":[1e999]},"basis":"b","x":null}', basis="b")
    read("no object", "[]", bad)
    read("no json", "", bad)
    read("a key twice", '{"basis":"a","basis":"a"}', bad)
    read("a key twice by escape", '{"basis":"a","\\u0062asis":"a"}', bad)
    read("concept null", '{"concept":null}', bad)
    read("basis a list", '{"basis":["a"]}', bad)
    read("half a surrogate pair", '{"basis":"\\ud800"}', bad)
    read("half a surrogate pair elsewhere", '{"x":"\\ud800","\\ud800":1}')
    read("subject empty", '{"subject":""}', bad)
    read("subject null", '{"subject":null}', bad)
    read("subject short", '{"subject":"%s"}' % SUBJECT[1:], bad)
    read("subject long", '{"subject":"%s0"}' % SUBJECT, bad)
    read("subject in upper case", '{"subject":"%s"}' % SUBJECT.upper(), bad)
    read("subject no hex", '{"subject":"%s"}' % ("g" * 64), bad)
    read("locations a text", '{"locations":"a"}', bad)
    read("a location a number", '{"locations":["a",1]}', bad)
    read("64 locations", '{"locations":[%s]}' % ",".join(['"a"'] * 64), locations=["a"] * 64)
    read("65 locations", '{"locations":[%s]}' % ",".join(['"a"'] * 65), bad)
    for key in ("basis", "residue"):
        read(key + " of 4096 bytes", repeat("é", 2048, '{"%s":"' % key, '"}'), **{key: "é" * 2048})
        read(key + " of 4098 bytes", repeat("é", 2049, '{"%s":"' % key, '"}'), bad)
    read("location of 1024 bytes", repeat("x", 1024, '{"locations":["', '"]}'), locations=["x" * 1024])
    read("location of 1025 bytes", repeat("x", 1025, '{"locations":["', '"]}'), bad)

    def ref(name, expect, arrow_id, clause_id, grid_version):
        out.add(
            "attestation-ref",
            name,
            {"arrow_id": arrow_id, "clause_id": clause_id, "grid_version": grid_version},
            expect=expect,
        )

    ref("ref: of a clause", "att-A-checkout-C1-v1", "A-checkout", "C1", 1)
    ref("ref: of an arrow", "att-A-checkout-v1", "A-checkout", "", 1)
    ref("ref: version zero", "att-A-C1-v0", "A", "C1", 0)
    ref("ref: largest version", "att-A-C1-v18446744073709551615", "A", "C1", 2**64 - 1)
    ref("ref: beyond exact doubles", "att-A-v9007199254740993", "A", "", 2**53 + 1)
    ref("ref: a blank clause is no empty one", "att-A- -v1", "A", " ", 1)
    ref("ref: nothing at all", "att--v1", "", "", 1)
    ref("ref: empty arrow", "att--C1-v1", "", "C1", 1)
    ref("ref: non-ascii", "att-Ä-Ç-v2", "Ä", "Ç", 2)
    return out
