"""What an operator is asked, and how things asked for are named."""

from cases import Cases, repeat


def build():
    out = Cases("hints")

    def synthesize(name, clause_id, concept, ref, arrow_id):
        out.add(
            "synthesize-hint",
            name,
            {
                "c": {
                    "clause_id": clause_id,
                    "concept": concept,
                    "depth_type_attestation_ref": ref,
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
            },
        )

    synthesize("hint: ordinary", "C1", "prices are right", "att-A-C1-v1", "A")
    synthesize("hint: everything empty", "", "", "", "")
    synthesize("hint: no ref", "C1", "prices are right", "", "A")
    synthesize("hint: spaces are kept", " C1 ", "  ", " r ", " A ")
    synthesize("hint: hostile words are kept", "C\0", '"}\n\u202e\x1b[2J', "../r", "A/../B")
    synthesize("hint: long concept", "C1", repeat("é", 40_000), "att-A-C1-v1", "A")

    def hint(name, expect, arrow_id="", clause_id="", concept="", attestation_ref=""):
        out.add(
            "encode-hint",
            name,
            {
                "h": {
                    "arrow_id": arrow_id,
                    "clause_id": clause_id,
                    "concept": concept,
                    "attestation_ref": attestation_ref,
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
