"""Where a record lives."""

import hashlib

from cases import Cases, record, repeat

SPECIAL = '/\\:*?<>|'
OTHER = " !\"#$%&'()+,;=@[]^`{}~"
DEVICES = ["CON", "PRN", "AUX", "NUL"] + [n + str(d) for n in ("COM", "LPT") for d in range(1, 10)]
PASS_EMPTY = "attestation-pass-id-empty"
ROLE = "attestation-role-invalid"
SELF = "attestation-self-cert-forbidden"


def hashed(value):
    return "h-" + hashlib.sha256(value.encode("utf-8")).digest()[:16].hex()


def build():
    out = Cases("paths")

    def path(name, expect=None, code=None, substituted=None, **changes):
        """One record's path; `expect` is the whole path by hand."""
        rec = record(**{"pass_id": "p1", "context": "c", "stratum": "s", **changes})
        if expect is not None:
            expect = {
                "path": expect,
                "truncated": bool(substituted),
                "substituted": substituted or [],
            }
        out.add("encode-attestation-path", name, {"rec": rec}, expect, code)

    def place(name, segment, value, text, swapped=False):
        """A value in one of the four places, and how it shows there."""
        # The role pair is reached through the source role, and so has a tail.
        parts = {"context": "c", "stratum": "s", "role-pair": "analyst__architect", "pass-id": "p1"}
        field = {"role-pair": "source_role"}.get(segment, segment.replace("-", "_"))
        parts[segment] = text
        path(
            "%s: %s" % (segment, name),
            "v1/{context}/stratum-{stratum}/{role-pair}/{pass-id}.jsonl".format_map(parts),
            substituted=[segment] if swapped else [],
            **{field: value},
        )

    # Ordinary.
    path("two roles", "v1/c/stratum-s/analyst__architect/p1.jsonl")
    path(
        "three roles",
        "v1/c/stratum-s/analyst__skeptic__architect/p1.jsonl",
        adversary_role="skeptic",
    )
    path(
        "a uuid",
        "v3/checkout/stratum-design/analyst__architect/01890a5d-ac96-774b-bcce-b302099a8057.jsonl",
        pass_id="01890a5d-ac96-774b-bcce-b302099a8057",
        context="checkout", stratum="design", grid_version=3,
    )
    path("every legal character", "v1/AZaz09._-/stratum-s/analyst__architect/p1.jsonl", context="AZaz09._-")
    path("version zero", "v0/c/stratum-s/analyst__architect/p1.jsonl", grid_version=0)
    path(
        "largest version",
        "v18446744073709551615/c/stratum-s/analyst__architect/p1.jsonl",
        grid_version=2**64 - 1,
    )
    path(
        "a version doubles cannot hold",
        "v9007199254740993/c/stratum-s/analyst__architect/p1.jsonl",
        grid_version=2**53 + 1,
    )
    path("nothing else in the record matters", "v1/c/stratum-s/analyst__architect/p1.jsonl",
         attestation_id="", kind="", arrow_id="", clause_id="", op_id="", verdict="", reason="\0",
         timestamp="", unit="", unit_payload_json="", hint_json="")
    path("case is kept", "v1/CheckOut/stratum-S/Analyst__ARCHITECT/P1.jsonl",
         context="CheckOut", stratum="S", source_role="Analyst", target_role="ARCHITECT", pass_id="P1")
    path("attested-by is no part of it", "v1/c/stratum-s/analyst__architect/p1.jsonl",
         attested_by_role="analyst")
    path("an empty attested-by is not init", "v1/c/stratum-s/analyst__architect/p1.jsonl",
         attested_by_role="")

    # Rule 1.
    for name, value in [("empty", ""), ("space", " "), ("tab and line feed", "\t\n"),
                        ("no-break space", "\u00a0"), ("ideographic space", "\u3000"),
                        ("next line", "\u0085")]:
        path("pass-id blank: " + name, code=PASS_EMPTY, pass_id=value)
    path("pass-id blank comes before a bad role", code=PASS_EMPTY, pass_id=" ", source_role="a__b")
    path("pass-id blank comes before the adversary", code=PASS_EMPTY, pass_id="", adversary_role="analyst")
    path("pass-id blank also for init", code=PASS_EMPTY, pass_id="", attested_by_role="init")
    place("zero-width space is not blank", "pass-id", "\u200b", hashed("\u200b"), True)
    place("unit separator is not blank", "pass-id", "\x1f", hashed("\x1f"), True)
    place("spaces around are kept as underscores", "pass-id", " p ", "_p_")

    # Rule 2.
    for name, word in [("plain", "init"), ("upper case", "INIT"), ("mixed case", "iNiT"),
                       ("spaces around", "  init "), ("tab and no-break space", "\tInit\u00a0")]:
        path("init: " + name, "v1/init/stratum-init/init/p1.jsonl", attested_by_role=word)
    path("init: only part of a word", "v1/c/stratum-s/analyst__architect/p1.jsonl",
         attested_by_role="initiator")
    path("init: quoted", "v1/c/stratum-s/analyst__architect/p1.jsonl", attested_by_role="'init'")
    path("init: dotless i", "v1/c/stratum-s/analyst__architect/p1.jsonl", attested_by_role="ınıt")
    path("init: dotted capital i", "v1/c/stratum-s/analyst__architect/p1.jsonl", attested_by_role="İNİT")
    path("init: ignores bad roles", "v1/init/stratum-init/init/p1.jsonl",
         attested_by_role="init", source_role="a__b", target_role="__", adversary_role="x__y")
    path("init: ignores the adversary", "v1/init/stratum-init/init/p1.jsonl",
         attested_by_role="init", adversary_role="analyst")
    path("init: ignores context and stratum", "v1/init/stratum-init/init/p1.jsonl",
         attested_by_role="init", context="\0", stratum=repeat("x", 300))
    path("init: keeps the version", "v7/init/stratum-init/init/p1.jsonl",
         attested_by_role="init", grid_version=7)
    path("init: pass-id is still encoded", "v1/init/stratum-init/init/a_b_.jsonl",
         attested_by_role="init", pass_id="a/b.")
    path("init: pass-id is still replaced", "v1/init/stratum-init/init/%s.jsonl" % hashed("nul"),
         attested_by_role="init", pass_id="nul", substituted=["pass-id"])
    path("init: in a role is an ordinary role", "v1/c/stratum-s/init__architect/p1.jsonl",
         source_role="init")

    # Rule 3.
    for role in ("source_role", "target_role", "adversary_role"):
        for name, value in [("inside", "a__b"), ("in front", "__a"), ("behind", "a__"),
                            ("alone", "__"), ("of three", "a___b")]:
            path("double underscore %s: %s" % (name, role), code=ROLE, **{role: value})
    path("single underscores", "v1/c/stratum-s/a_b__c_d/p1.jsonl", source_role="a_b", target_role="c_d")
    path("underscores that meet", "v1/c/stratum-s/a____b/p1.jsonl", source_role="a_", target_role="_b")
    path("underscore at an end", "v1/c/stratum-s/a___b/p1.jsonl", source_role="a_", target_role="b")
    path("slashes become underscores after the check", "v1/c/stratum-s/a__b__architect/p1.jsonl",
         source_role="a//b")
    path("source empty", "v1/c/stratum-s/__architect/p1.jsonl", source_role="")
    path("target empty", "v1/c/stratum-s/analyst__/p1.jsonl", target_role="")
    path("both ends empty", "v1/c/stratum-s/__/p1.jsonl", source_role="", target_role="")
    path("same source and target", "v1/c/stratum-s/a__a/p1.jsonl", source_role="a", target_role="a")
    for name, value in [("source", "analyst"), ("target", "architect"), ("source in another case", "ANALYST"),
                        ("target with spaces", " Architect\t")]:
        path("adversary is the " + name, code=SELF, adversary_role=value)
    path("adversary is the source, spaces there", code=SELF, source_role=" Analyst ", adversary_role="analyst")
    path("adversary equal beyond ascii", code=SELF, source_role="ÉTUDE", adversary_role="étude")
    path("adversary nearly the source", "v1/c/stratum-s/analyst__analyst2__architect/p1.jsonl",
         adversary_role="analyst2")
    path("a bad role comes before the adversary", code=ROLE, source_role="a__b", adversary_role="a__b")
    path("a bad adversary name comes first", code=ROLE, adversary_role="analyst__")
    path("adversary is init", "v1/c/stratum-s/analyst__init__architect/p1.jsonl", adversary_role="init")

    # Rule 4, each character in each place it can be told apart.
    for segment in ("context", "stratum", "pass-id"):
        for char in SPECIAL:
            place("character " + char, segment, "a%sb" % char, "a_b")
    for char in SPECIAL:
        place("character " + char, "role-pair", "a%sb" % char, "a_b__architect")
    for char in OTHER:
        place("other character " + ("space" if char == " " else char), "context", "a%sb" % char, "a_b")
    for segment, tail in [("context", ""), ("stratum", ""), ("pass-id", ""), ("role-pair", "__architect")]:
        place("all the others at once", segment, OTHER, "_" * len(OTHER) + tail)
        place("a space alone", segment, "x " if segment == "pass-id" else " ",
              ("x_" if segment == "pass-id" else "_") + tail)
        place("one illegal character alone", segment, "*", "_" + tail)
        place("dots inside", segment, "a.b..c", "a.b..c" + tail)
        place("dot in front", segment, ".a", ".a" + tail)
    for segment in ("context", "stratum", "pass-id"):
        place("dot at the end", segment, "a.", "a_")
        place("two dots at the end", segment, "a..", "a._")
        place("three dots", segment, "...", ".._")
        place("dot before a slash at the end", segment, "a./", "a._")
    path("role-pair: dot at the end", "v1/c/stratum-s/analyst__architect_/p1.jsonl", target_role="architect.")
    place("dot at the end of the source is inside", "role-pair", "a.", "a.__architect")
    path("two identities share a file: slash", "v1/a_b/stratum-s/analyst__architect/p1.jsonl", context="a/b")
    path("two identities share a file: underscore", "v1/a_b/stratum-s/analyst__architect/p1.jsonl", context="a_b")
    place("looks like a replacement", "context", "h-00112233445566778899aabbccddeeff",
          "h-00112233445566778899aabbccddeeff")

    # Rule 5: empty, dots.
    empty = "h-e3b0c44298fc1c149afbf4c8996fb924"
    place("empty", "context", "", empty, True)
    place("empty", "stratum", "", empty, True)
    for segment in ("context", "stratum", "pass-id"):
        place("one dot", segment, ".", hashed("."), True)
        place("two dots", segment, "..", hashed(".."), True)
    place("upwards", "context", "../../etc", ".._.._etc")
    place("upwards, backslashes", "pass-id", "..\\..\\x", ".._.._x")
    place("absolute", "pass-id", "/etc/passwd", "_etc_passwd")
    place("percent-encoded upwards", "context", "%2e%2e%2f", "_2e_2e_2f")

    # Rule 5: controls and what is not ASCII.
    for segment in ("context", "stratum", "pass-id"):
        for name, value in [("nul", "a\0b"), ("line feed", "a\nb"), ("escape", "a\x1b[0m"),
                            ("delete", "a\x7f"), ("c1", "a\x85b"), ("letter", "é"),
                            ("fullwidth slash", "a／b"), ("override", "a\u202eb"),
                            ("emoji", "🦊"), ("no-break space", "a\u00a0b")]:
            place("not plain ascii, " + name, segment, value, hashed(value), True)
    for name, value in [("nul", "a\0"), ("tab", "a\tb"), ("letter", "ä"), ("emoji", "🦊")]:
        place("not plain ascii, " + name, "role-pair", value, hashed(value + "__architect"), True)
    place("decomposed is another value", "context", "e\u0301", hashed("e\u0301"), True)
    place("control and illegal character", "context", "a/\x01", hashed("a/\x01"), True)

    # Rule 5: devices.
    for device in DEVICES:
        place("device " + device, "context", device, hashed(device), True)
    for segment in ("stratum", "pass-id"):
        for device in ("CON", "nul", "Com1", "lpt9"):
            place("device " + device, segment, device, hashed(device), True)
    for name in ("con", "cOn", "con.txt", "CON.", "con..x", "NUL.tar.gz", "com1.", "LPT1.b"):
        place("device in disguise " + name, "context", name, hashed(name), True)
    place("device before a dot", "role-pair", "con.x", hashed("con.x__architect"), True)
    place("device as the source is inside", "role-pair", "con", "con__architect")
    for name, text in [("CON ", "CON_"), (" CON", "_CON"), ("CON:", "CON_"), ("CON/x", "CON_x"),
                       ("CONX", "CONX"), ("XCON", "XCON"), (".CON", ".CON"), ("x.CON", "x.CON"),
                       ("COM0", "COM0"), ("COM10", "COM10"), ("LPT", "LPT"), ("CONIN$", "CONIN_"),
                       ("CLOCK$", "CLOCK_"), ("CON_", "CON_"), ("CON-1", "CON-1")]:
        place("no device " + repr(name), "context", name, text)
    place("superscript digit", "context", "COM¹", hashed("COM¹"), True)

    # Rule 5: 255 bytes, prefix and suffix counted.
    for segment, extra, tail in [("context", 0, ""), ("stratum", 8, ""), ("pass-id", 6, ""),
                                 ("role-pair", 0, "__architect")]:
        for total in (254, 255, 256):
            length = total - extra - len(tail)
            value = repeat("x", length)
            over = total > 255
            text = hashed(value + tail) if over else value + tail
            place("component of %d bytes" % total, segment, value, text, over)
            value = repeat("/", length)
            text = hashed(value + tail) if over else "_" * length + tail
            place("component of %d bytes, all replaced" % total, segment, value, text, over)
    for total in (255, 256):
        value = "x" * (total - 1) + "."
        place("component of %d bytes ending in a dot" % total, "context", value,
              hashed(value) if total > 255 else "x" * (total - 1) + "_", total > 255)
    for total in (255, 256):
        middle = repeat("m", total - len("analyst____architect"))
        pair = "analyst__%s__architect" % middle
        path("three roles of %d bytes" % total,
             "v1/c/stratum-s/%s/p1.jsonl" % (hashed(pair) if total > 255 else pair),
             adversary_role=middle, substituted=["role-pair"] if total > 255 else [])
    place("what counts is the value's own length, 127 two-byte characters", "context",
          repeat("é", 127), hashed("é" * 127), True)
    place("a hundred thousand bytes", "pass-id", repeat("x", 100_000), hashed("x" * 100_000), True)

    # Several at once.
    every = dict(context="", stratum="..", source_role="ä", pass_id="nul")
    pair = hashed("ä__architect")
    path("all four replaced",
         "v1/%s/stratum-%s/%s/%s.jsonl" % (empty, hashed(".."), pair, hashed("nul")),
         substituted=["context", "stratum", "role-pair", "pass-id"], **every)
    path("first and last replaced",
         "v1/%s/stratum-s/analyst__architect/%s.jsonl" % (empty, hashed("aux")),
         substituted=["context", "pass-id"], context="", pass_id="aux")
    path("middle two replaced",
         "v1/c/stratum-%s/%s/p1.jsonl" % (hashed("\t"), pair),
         substituted=["stratum", "role-pair"], stratum="\t", source_role="ä")
    path("encoded in all four places", "v1/a_b/stratum-c_d/e_f__g_h/i_j.jsonl",
         context="a/b", stratum="c:d", source_role="e f", target_role="g?h", pass_id="i|j")
    path("the same value everywhere",
         "v1/%s/stratum-%s/x__y/%s.jsonl" % (hashed("CON"), hashed("CON"), hashed("CON")),
         context="CON", stratum="CON", source_role="x", target_role="y", pass_id="CON",
         substituted=["context", "stratum", "pass-id"])
    path("values of a replaced and an encoded kind",
         "v1/_/stratum-%s/a.__.b/%s.jsonl" % (hashed("."), "p._"),
         context="*", stratum=".", source_role="a.", target_role=".b", pass_id="p..",
         substituted=["stratum"])

    def belong(folder, good=(), bad=()):
        names = [*good, *bad]
        out.add("belong", "belong below %r" % folder[:60], {"folder": folder, "names": names},
                expect=[True] * len(good) + [False] * len(bad))

    belong("", ["v0", "v1", "v10", "v9007199254740991"],
           ["v00", "v01", "v", "V1", "v-1", "v+1", "v1 ", "v9007199254740992", "v99999999999999999999", "x",
            "", ".", "..", "._v1", "v1.bak", "v１"])
    belong("v1", ["checkout", "a.b", ".hidden", "-", "_", "h-0", "init", repeat("x", 255)],
           ["", ".", "..", "a b", "a.", "é", "CON", "nul.txt", "a:b", "a\\b", "a/b", repeat("x", 256)])
    belong("v1/c", ["stratum-s", "stratum-init", "stratum--", "stratum-stratum-"],
           ["stratum-", "stratum-CON", "stratum-a.", "strata-s", "s", "Stratum-s", "stratum-a b"])
    belong("v1/c/stratum-s", ["a__b", "a__b__c", "__", "h-e3b0c44298fc1c149afbf4c8996fb924"],
           ["init", "a_b", "h-0", "h-E3b0c44298fc1c149afbf4c8996fb924", "a__b.", "a__b "])
    belong("v1/init/stratum-init", ["init", "a__b"], ["Init", "init_"])
    belong("v1/init/stratum-s", ["a__b"], ["init"])
    belong("v1/c/stratum-s/a__b", ["p1.jsonl", ".jsonl.jsonl", "h-0.jsonl", repeat("x", 249, "", ".jsonl")],
           ["p1", ".jsonl", "p1.jsonl~", "p1.JSONL", "._p1.jsonl.tmp", "p..jsonl", "p 2.jsonl", "nul.jsonl",
            "com1.x.jsonl", repeat("x", 250, "", ".jsonl"), "p1 (conflicted copy).jsonl"])
    belong("v1/c/stratum-s/a__b/p1.jsonl", (), ["x", "p1.jsonl"])
    belong("v0", ["checkout"])
    belong("v00", (), ["checkout"])
    belong("v1/c d", (), ["stratum-s"])
    belong("v1/c/s", (), ["a__b"])
    belong("v1/", (), ["checkout"])
    belong("/v1", (), ["checkout"])
    belong("v2")

    assert out.count("encode-attestation-path") >= 200
    return out
