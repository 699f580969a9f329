"""Who may answer."""

from cases import Cases, repeat

INVALID = "op-id-invalid-characters"


def build():
    out = Cases("operators")

    def op(name, op_id, code=None):
        out.add("validate-op-id", name, {"op_id": op_id}, code=code)

    for name, op_id in [
        ("mail address", "alice@example.com"),
        ("one letter", "a"),
        ("one digit", "7"),
        ("dashes and dots inside", "a.b-c.d"),
        ("trailing dash", "alice-"),
        ("leading underscore", "_alice"),
        ("plus address", "alice+audit@example.com"),
        ("upper case", "ALICE"),
        ("non-ascii letters", "zoë.müller"),
        ("cjk", "山田太郎"),
        ("emoji", "🦊"),
        ("combining mark", "e\u0301ve"),
        ("right-to-left letters without override", "דוד"),
        ("quotation mark", 'al"ice'),
        ("braces and brackets", "{[alice]}"),
        ("comma and colon", "alice,bob:carol"),
        ("json text", '{"op_id":1}'),
        ("apostrophe", "o'hara"),
        ("percent", "%2e%2e"),
        ("star and question mark", "a*b?c"),
        ("pipe and angles", "a|b<c>"),
        ("dollar and backtick", "$`id`"),
        ("looks like init", "init"),
        ("private use character", "\ue000"),
        ("last code point", "a\U0010ffff"),
        ("unassigned code point", "a\u0378"),
        ("braille blank is no whitespace", "a\u2800"),
        ("hangul filler is no format character", "a\u3164"),
        ("variation selector is a mark", "a\ufe0f"),
        ("dot then dash inside", "a.-b"),
    ]:
        op(name, op_id)

    op("empty", "", "op-id-required")
    op("one space", " ", "op-id-required")
    op("tabs and line feeds", "\t\n\r", "op-id-required")
    op("no-break space alone", "\u00a0", "op-id-required")
    op("ideographic space alone", "\u3000", "op-id-required")
    op("line separator alone", "\u2028", "op-id-required")
    op("zero-width space alone is not blank", "\u200b", INVALID)
    op("unit separator alone is not blank", "\x1f", INVALID)

    op("255 bytes", repeat("a", 255))
    op("256 bytes", repeat("a", 256))
    op("257 bytes", repeat("a", 257), "op-id-too-long")
    op("128 two-byte characters", repeat("é", 128))
    op("129 two-byte characters", repeat("é", 129), "op-id-too-long")
    op("64 four-byte characters", repeat("🦊", 64))
    op("65 four-byte characters", repeat("🦊", 65), "op-id-too-long")
    op("too long and invalid is too long", repeat("/", 257), "op-id-too-long")
    op("long and blank is required", repeat(" ", 300), "op-id-required")
    op("a million bytes", repeat("x", 1_000_000), "op-id-too-long")

    for name, op_id in [
        ("slash", "a/b"),
        ("backslash", "a\\b"),
        ("two dots", "a..b"),
        ("only two dots", ".."),
        ("path upwards", "../alice"),
        ("leading dot", ".alice"),
        ("leading dash", "-alice"),
        ("only a dash", "-"),
        ("trailing dot", "alice."),
        ("only a dot", "."),
        ("space inside", "alice smith"),
        ("leading space", " alice"),
        ("trailing space", "alice "),
        ("trailing line feed", "alice\n"),
        ("tab inside", "a\tb"),
        ("no-break space", "a\u00a0b"),
        ("ogham space", "a\u1680b"),
        ("em space", "a\u2003b"),
        ("narrow no-break space", "a\u202fb"),
        ("medium mathematical space", "a\u205fb"),
        ("ideographic space", "a\u3000b"),
        ("line separator", "a\u2028b"),
        ("paragraph separator", "a\u2029b"),
        ("nul", "a\0b"),
        ("escape", "a\x1b[31mb"),
        ("unit separator", "a\x1fb"),
        ("delete", "a\x7fb"),
        ("next line (c1)", "a\x85b"),
        ("control sequence introducer (c1)", "a\x9bb"),
        ("soft hyphen", "a\u00adb"),
        ("arabic number sign", "a\u0600b"),
        ("arabic letter mark", "a\u061cb"),
        ("mongolian vowel separator", "a\u180eb"),
        ("zero-width space", "a\u200bb"),
        ("zero-width joiner", "a\u200db"),
        ("left-to-right mark", "a\u200eb"),
        ("right-to-left override", "a\u202eb"),
        ("word joiner", "a\u2060b"),
        ("left-to-right isolate", "a\u2066b"),
        ("pop directional isolate", "a\u2069b"),
        ("byte order mark", "\ufeffalice"),
        ("interlinear annotation anchor", "a\ufff9b"),
        ("kaithi number sign", "a\U000110bdb"),
        ("egyptian joiner", "a\U00013430b"),
        ("egyptian mirror, newer unicode", "a\U0001343fb"),
        ("musical begin beam", "a\U0001d173b"),
        ("language tag", "a\U000e0001b"),
        ("tag letter", "a\U000e0061b"),
    ]:
        op(name, op_id, INVALID)

    assert out.count("validate-op-id") >= 60
    return out
