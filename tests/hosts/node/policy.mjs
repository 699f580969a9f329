// The ghyll policy component in Node: load it, call it.
//
//     const policy = await loadPolicy("guest/ghyll-policy.wasm");
//     policy.call("operators", "validate-op-id", "alice@example.com");
//
// jco makes an ES module of the component, once for each component, and keeps it
// beside its own files. Values are plain: a WIT record is an object with `_` for
// `-` in its keys, an option is the value or null, a cursor's surface is "flat"
// or {tree: path}, and what WIT calls u64 is a BigInt. An error of the policy is
// thrown as PolicyError.

import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));

/** The policy refuses. `code` is stable, `detail` is for people. */
export class PolicyError extends Error {
  constructor({ code, detail }) {
    super(`${code}: ${detail}`);
    this.code = code;
    this.detail = detail;
  }
}

export async function loadPolicy(file) {
  const interfaces = await import(pathToFileURL(await transpiled(file)).href);
  return {
    call(name, func, ...args) {
      try {
        return lift(interfaces[name][camel(func)](...args.map(lower)));
      } catch (error) {
        if (error?.payload?.code) throw new PolicyError(error.payload);
        throw error;
      }
    },
  };
}

/** `check-lines`, with what each line says: `rec` (null without a record),
 * `attestation_ref`, `chain`, and `path` itself. The component says where the
 * values of an ordinary line stand; they are read from the chunk. */
export function checkLines(policy, chunk, cursor, limits) {
  const checked = policy.call("records", "check-lines", chunk, cursor, limits);
  const lines = checked.lines.map(({ content, path, ...line }) => ({
    ...line,
    path: path === null || path === undefined ? "" : checked.paths[path],
    ...said(content, chunk, Number(line.offset - BigInt(cursor.bytes))),
  }));
  return { ...checked, lines };
}

function said({ tag, val }, chunk, start) {
  if (tag === "no-record") return { rec: null, attestation_ref: "", chain: val };
  if (tag === "other") return val;
  const text = ({ offset, length }) =>
    JSON.parse(`"${Buffer.from(chunk.subarray(start + offset, start + offset + length)).toString("utf8")}"`);
  const { attestation_ref, chain, ...members } = val;
  const rec = Object.fromEntries(
    Object.entries(members).map(([key, span]) => [key, key === "grid_version" ? BigInt(text(span)) : text(span)]),
  );
  return { rec, attestation_ref: text(attestation_ref), chain: text(chain) };
}

/** The component as an ES module on disk. */
async function transpiled(file) {
  const component = await readFile(file);
  const digest = createHash("sha256").update(component).digest("hex");
  const folder = join(HERE, "node_modules", ".cache", "ghyll-policy", digest);
  const module = join(folder, "policy.js");
  if (await stat(module).catch(() => null)) return module;
  const { transpile } = await import("@bytecodealliance/jco");
  const { files } = await transpile(component, { name: "policy" });
  // Made elsewhere and moved, so that it is never seen half written.
  const draft = `${folder}.${process.pid}`;
  for (const [name, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(draft, name)), { recursive: true });
    await writeFile(join(draft, name), bytes);
  }
  await rename(draft, folder).catch(() => rm(draft, { recursive: true }));
  return module;
}

const camel = (name) => name.replace(/[-_]([a-z])/g, (_, letter) => letter.toUpperCase());
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A plain value as jco takes it. */
function lower(value) {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(lower);
  const out = {};
  for (const [key, item] of Object.entries(value)) out[camel(key)] = lower(item);
  if ("surface" in value) out.surface = variant(value.surface);
  return out;
}

/** What jco gives as a plain value. */
function lift(value) {
  if (value === undefined) return null;
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(lift);
  const out = {};
  for (const [key, item] of Object.entries(value)) {
    out[snake(key)] = key === "surface" ? plain(item) : lift(item);
  }
  return out;
}

const variant = (surface) =>
  surface === "flat" ? { tag: "flat" } : { tag: "tree", val: surface.tree };
const plain = (surface) => (surface.tag === "flat" ? "flat" : { tree: surface.val });
