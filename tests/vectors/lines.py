"""`check-lines` a second time: a whole file, judged from the contract alone.

There are no chunks here. That a file cut into chunks comes to the same
judgement is what the vectors ask of the component.
"""

import policy
from policy import FIELDS, MAX_LINE, Refused

import re

MAX_U64 = (1 << 64) - 1
MALFORMED = "attestation-line-malformed"


def check_file(data, cursor, limits):
    """Every line from where the cursor stands, and where it stands then.

    The cursor's surface is `"flat"` or `{"tree": path}`.
    """
    lines, offset, chain = [], 0, cursor["chain"]
    at_end, surface = cursor["at_end"], cursor["surface"]
    while offset < len(data):
        end = data.find(b"\n", offset)
        stop = len(data) if end < 0 else end + 1
        if stop - offset > MAX_LINE:
            # The end of an endless line is not waited for.
            raw, stop = None, offset + MAX_LINE
        elif end < 0:
            if not at_end:
                break
            raw = None
        else:
            raw = data[offset:end]
        line = {
            "number": cursor["lines"] + len(lines) + 1,
            "offset": cursor["bytes"] + offset,
            "length": stop - offset,
        }
        if raw is None and stop - offset < MAX_LINE:
            line.update(no_record(data[offset:stop], chain, "attestation-line-partial"))
        elif raw is None:
            line.update(no_record(data[offset:stop], chain, MALFORMED))
        else:
            line.update(check_line(raw, chain, surface, limits))
        lines.append(line)
        chain = line["chain"]
        offset = stop
    return {
        "lines": lines,
        "cursor": {
            "bytes": cursor["bytes"] + offset,
            "lines": cursor["lines"] + len(lines),
            "chain": chain,
        },
    }


def no_record(raw, previous, code):
    return {
        "rec": None,
        "attestation_ref": "",
        "round": 0,
        "chain": policy.link(previous, raw),
        "chained": False,
        "path": "",
        "problems": [code],
        "warnings": [],
    }


def check_line(raw, previous, surface, limits):
    parsed = parse_line(raw)
    if parsed is None:
        return no_record(raw, previous, MALFORMED)
    rec, absent, stated = parsed
    problems = []
    chained = stated is not None
    if chained and policy.with_chain(policy.object_text(rec), stated).encode() != raw:
        problems.append(MALFORMED)
    if not chained and isinstance(rec["timestamp"], str):
        # Legacy lines may have fewer digits.
        short = re.fullmatch(r"(.*?)(?:\.([0-9]{1,9}))?Z", rec["timestamp"], re.DOTALL)
        if short and policy.real_time(rec["timestamp"], r"(\.[0-9]{1,9})?"):
            rec["timestamp"] = "%s.%sZ" % (short[1], (short[2] or "").ljust(9, "0"))
    tree = surface["tree"] if surface != "flat" else None
    problems += policy.faults(
        rec,
        limits,
        unit_absent="unit" in absent,
        pass_optional=tree is None and not chained,
    )
    try:
        path = policy.encode_attestation_path(rec)["path"]
    except Refused:
        path = ""
    if tree is not None and path not in ("", tree):
        problems.append("attestation-path-mismatch")
    link = policy.link(previous, without_chain(raw) if chained else raw)
    if chained and tree is not None and stated != link:
        problems.append("attestation-chain-broken")
    ref, round = policy.split_id(rec["attestation_id"])
    return {
        "rec": rec,
        "attestation_ref": ref,
        "round": round,
        "chain": stated if chained else link,
        "chained": chained,
        "path": path,
        "problems": problems,
        "warnings": [] if chained else ["attestation-chain-absent"],
    }


def without_chain(raw):
    return re.sub(rb',"chain":"[^"]*"}$', b"}", raw)


def parse_line(raw):
    """The record of a line, the keys it lacks and its chain; None if it is none."""
    if raw.endswith(b"\r"):
        return None
    try:
        members = policy.parse_object(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    if members is None:
        return None
    given = dict(members)
    if len(given) != len(members) or given.keys() - {*FIELDS, "chain"}:
        return None
    rec = {key: "" for key in FIELDS}
    rec.update(grid_version=0, unit_payload_json="{}", hint_json="{}")
    for key, value in given.items():
        number = type(value) is int
        if key == "grid_version":
            if not number or not 0 <= value <= MAX_U64:
                return None
        elif key == "timestamp" and number:
            value = unix_time(value)
        elif not isinstance(value, str) or re.search("[\ud800-\udfff]", value):
            # JSON can spell half a surrogate pair; no text can hold it.
            return None
        if key != "chain":
            rec[key] = value
    return rec, rec.keys() - given.keys(), given.get("chain")


def unix_time(nanos):
    """Nanoseconds since 1970 as RFC 3339, by counting years and months."""
    seconds, fraction = divmod(nanos, 10**9)
    days, second = divmod(seconds, 86400)
    year, month = 1970, 1
    while days < 0:
        year -= 1
        days += year_length(year)
    while days >= year_length(year):
        days -= year_length(year)
        year += 1
    while days >= policy.days_in_month(year, month):
        days -= policy.days_in_month(year, month)
        month += 1
    return "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ" % (
        year, month, days + 1, second // 3600, second // 60 % 60, second % 60, fraction
    )


def year_length(year):
    return sum(policy.days_in_month(year, month) for month in range(1, 13))
