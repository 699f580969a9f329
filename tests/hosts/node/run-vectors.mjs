#!/usr/bin/env node
// Runs every vector against the component.
//
//     run-vectors.mjs [--component FILE] [--vectors FOLDER]

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { parse, stringify } from "./json.mjs";
import { checkLines, loadPolicy, PolicyError } from "./policy.mjs";

// WIT has u64 where JSON has a number; only these are compared as such.
const U64 = new Set(["grid_version", "number", "offset", "length", "bytes", "lines", "consumed", "skipped"]);
const beside = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Long strings in full, and 64-bit numbers as such. */
function expand(value, key) {
  if (Array.isArray(value)) return value.map((item) => expand(item));
  if (typeof value === "number" && U64.has(key)) return BigInt(value);
  if (value === null || typeof value !== "object") return value;
  if ("repeat" in value) return (value.before ?? "") + value.repeat.repeat(value.times) + (value.after ?? "");
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, expand(item, name)]));
}

function bytesOf(part) {
  if (typeof part === "string") return Buffer.from(part, "utf8");
  return "base64" in part ? Buffer.from(part.base64, "base64") : Buffer.from(part.text, "utf8");
}

/** The answer as the vectors spell it. */
function ask(policy, name, { call, args, ok }) {
  try {
    const answer = policy.call(name, call, ...Object.values(args));
    if (call === "encode-line" && ok && !("line" in ok)) delete answer.line;
    return { ok: answer };
  } catch (error) {
    if (error instanceof PolicyError) return { err: error.code };
    throw error;
  }
}

/** The file's lines and last cursor, with the file cut as told. */
function askAboutFile(policy, { file, cursor: start, limits }, cuts) {
  const data = Buffer.concat(file.map(bytesOf));
  if (!Array.isArray(cuts)) {
    const { every } = cuts;
    cuts = [];
    for (let at = every; at < data.length; at += every) cuts.push(at);
  }
  const edges = [0, ...cuts, data.length];
  const lines = [];
  let cursor = start;
  let rest = Buffer.alloc(0);
  for (let n = 1; n < edges.length; n++) {
    rest = Buffer.concat([rest, data.subarray(edges[n - 1], edges[n])]);
    cursor = { ...cursor, at_end: start.at_end && n === edges.length - 1 };
    const checked = checkLines(policy, rest, cursor, limits);
    cursor = checked.cursor;
    rest = rest.subarray(Number(checked.consumed));
    lines.push(...checked.lines);
  }
  for (const line of lines) {
    for (const key of ["problems", "warnings"]) line[key] = line[key].map((fault) => fault.code);
  }
  const { bytes, lines: count, chain } = cursor;
  return { ok: { lines, cursor: { bytes, lines: count, chain } } };
}

const { values: options } = parseArgs({
  options: {
    component: { type: "string", default: beside("../../../guest/ghyll-policy.wasm") },
    vectors: { type: "string", default: beside("../../vectors") },
  },
});
const policy = await loadPolicy(options.component);
let count = 0;
let failed = 0;
for (const file of readdirSync(options.vectors).filter((name) => name.endsWith(".json")).sort()) {
  const vectors = parse(readFileSync(join(options.vectors, file), "utf8"));
  const name = vectors.interface.match(/\/(\w+)@/)[1];
  for (const raw of vectors.cases) {
    const { cuts, ...case_ } = raw;
    const test = expand(case_);
    const expected = "err" in test ? { err: test.err } : { ok: test.ok };
    const ways = cuts ?? [null];
    count += 1;
    let wrong = false;
    for (const way of ways) {
      const got = cuts ? askAboutFile(policy, test.args, way) : ask(policy, name, test);
      if (isDeepStrictEqual(got, expected)) continue;
      wrong = true;
      console.log(`${file}: ${test.name} ${cuts ? `cut ${JSON.stringify(way)}` : ""}`);
      console.log(`  expected ${stringify(expected).slice(0, 2000)}`);
      console.log(`  answered ${stringify(got).slice(0, 2000)}`);
    }
    failed += wrong;
  }
}
console.log(`${count} cases, ${failed} failed`);
process.exitCode = failed || !count ? 1 : 0;
