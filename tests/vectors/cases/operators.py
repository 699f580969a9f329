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
        ("combining mark that composes with nothing", "q\u0307"),
        ("marks in order", "q\u0323\u0307"),
        ("hangul syllable", "각"),
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
        ("combining grapheme joiner", "a\u034fb"),
        ("hangul lead filler", "a\u115fb"),
        ("hangul vowel filler", "a\u1160b"),
        ("khmer inherent vowel", "a\u17b4b"),
        ("mongolian variation selector", "a\u180bb"),
        ("hangul filler", "a\u3164b"),
        ("halfwidth hangul filler", "a\uffa0b"),
        ("variation selector", "a\ufe0fb"),
        ("variation selector supplement", "a\U000e0100b"),
        ("ignorable, not assigned", "a\ufff0b"),
        ("braille without dots", "a\u2800b"),
        ("khitan filler", "a\U00016fe4b"),
        ("null notehead", "a\U0001d159b"),
        ("egyptian blank", "a\U00013441b"),
        ("decomposed", "zoe\u0308"),
        ("marks out of order", "q\u0307\u0323"),
        ("angstrom sign", "\u212bke"),
        ("singleton", "\u2126"),
        ("excluded from composition", "\u0958"),
        ("compatibility ideograph", "\uf900"),
        ("hangul letters", "\u1100\u1161"),
        ("hangul tail behind a syllable", "\uac00\u11a8"),
        ("starters that compose", "\u09c7\u09be"),
    ]:
        op(name, op_id, INVALID)

    def grid(name, id, code=None):
        out.add("check-grid-id", "grid id: " + name, {"id": id}, code=code)

    for name, id in [
        ("empty", ""), ("arrow", "A-checkout"), ("blank inside", "two words"), ("slash", "a/b"),
        ("dots", ".."), ("json", '{"a":1}'), ("other scripts", "山田"), ("composed", "zoë"),
        ("very long", repeat("é", 10_000)), ("private use", "\ue000"),
    ]:
        grid(name, id)
    for name, id in [
        ("only a blank", " "), ("blank in front", " a"), ("blank behind", "a "), ("tab", "a\tb"),
        ("nul", "a\0b"), ("c1", "a\x9bb"), ("no-break space", "a\u00a0b"), ("em space", "a\u2003b"),
        ("line separator", "a\u2028b"), ("zero-width space", "a\u200bb"), ("override", "a\u202eb"),
        ("byte order mark", "\ufeffa"), ("annotation anchor", "A-x\ufff9"), ("filler", "a\u3164"),
        ("variation selector", "a\ufe0f"), ("braille without dots", "\u2800"),
        ("decomposed", "zoe\u0308"), ("ohm sign", "\u2126"),
    ]:
        grid(name, id, "grid-id-invalid-characters")

    def looks(name, text, expect):
        out.add("skeleton", "skeleton: " + name, {"text": text}, expect=expect)

    looks("empty", "", "")
    looks("plain", "A-x", "A-x")
    looks("digits", "C10", "ClO")
    looks("one for two", "farm", "farrn")
    looks("cyrillic", "\u0440\u0430\u0443\u0440al", "paypal")
    looks("greek", "\u0391", "A")
    looks("fullwidth", "\uff21", "A")
    looks("mathematical", "\U0001d41a", "a")
    looks("dashes", "A\u2010\u2011\u2013\u2212x", "A----x")
    looks("blanks", "a\u00a0b\u2003c", "a b c")
    looks("two for one", "\u2225", "ll")
    looks("what is not seen is dropped", "A-\u200bx\ufe0f\ufff0\u3164", "A-x")
    looks("composed is taken apart", "zo\u00eb", "zoe\u0308")
    looks("marks are put in order", "q\u0307\u0323", "q\u0323\u0307")
    looks("long", repeat("\u0430", 20_000), "a" * 20_000)

    def key(name, role, expect):
        out.add("role-key", "role: " + name, {"role": role}, expect=expect)

    key("plain", "analyst", "analyst")
    key("case and blanks", " \tANALYST\u3000", "analyst")
    key("beyond ascii", "ÄRZTIN", "ärztin")
    key("empty", "", "")
    key("blank inside", "two  Words", "two  words")
    key("dotted capital i", "\u0130", "i\u0307")
    out.add("unshown", "what may not be shown", {})

    assert out.count("validate-op-id") >= 60
    return out
