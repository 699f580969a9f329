#!/usr/bin/env node
// What the policy says of one record, as JSON.
//
//     judge.mjs [--prev-chain CHAIN] [--component FILE] [RECORD.json]
//
// The record is a line of an audit file or an element of `ghyll attestations
// --json`; without a file it is read from stdin. Keys it lacks are empty, a chain
// it has is not looked at. Exit status: 0 valid, 1 not, 2 not a record at all.
//
// Once before: `npm ci` in this folder.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parse, stringify } from "./json.mjs";
import { loadPolicy, PolicyError } from "./policy.mjs";

const FIELDS = `attestation_id kind arrow_id clause_id op_id attested_by_role source_role
  target_role adversary_role verdict reason timestamp grid_version pass_id
  context stratum unit unit_payload_json hint_json`.split(/\s+/);
const ABSENT = { grid_version: 0n, unit_payload_json: "{}", hint_json: "{}" };

/** All fields of a record from those given. */
function recordOf(given) {
  if (given === null || typeof given !== "object" || Array.isArray(given)) {
    throw new TypeError("not a JSON object");
  }
  const rec = Object.fromEntries(FIELDS.map((key) => [key, Object.hasOwn(given, key) ? given[key] : (ABSENT[key] ?? "")]));
  for (const [key, value] of Object.entries(rec)) {
    const type = key === "grid_version" ? "bigint" : "string";
    if (typeof value !== type) throw new TypeError(`${key} is no ${type}`);
    // JSON can spell half a surrogate pair; no text can hold it.
    if (type === "string" && !value.isWellFormed()) throw new TypeError(`${key} is no text`);
  }
  if (BigInt.asUintN(64, rec.grid_version) !== rec.grid_version) {
    throw new TypeError("grid_version is beyond 64 bits");
  }
  return rec;
}

/** The code (empty when valid), the path and the line a record has. */
function judge(policy, rec, prevChain) {
  const answer = { code: "", detail: "", path: "", truncated: false, substituted: [], chain: "", line: "" };
  for (const [name, func, ...more] of [
    ["records", "encode-line", prevChain],
    ["paths", "encode-attestation-path"],
    ["records", "validate", { max_residue_bytes: 0 }],
  ]) {
    try {
      Object.assign(answer, policy.call(name, func, rec, ...more));
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      // The last one asked is the one that counts.
      Object.assign(answer, { code: error.code, detail: error.detail });
    }
  }
  return answer;
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      "prev-chain": { type: "string", default: "" },
      component: {
        type: "string",
        default: fileURLToPath(new URL("../../../guest/ghyll-policy.wasm", import.meta.url)),
      },
    },
  });
  const rec = recordOf(parse(readFileSync(positionals[0] ?? 0, "utf8")));
  const answer = judge(await loadPolicy(values.component), rec, values["prev-chain"]);
  console.log(stringify(answer));
  process.exitCode = answer.code ? 1 : 0;
} catch (error) {
  console.error(`judge.mjs: ${error.message}`);
  process.exitCode = 2;
}
