// JSON with whole numbers of 64 bits, which a double cannot hold.

/** Parses; a `grid_version` that is a whole number becomes a BigInt. */
export function parse(text) {
  // Through a string that nobody writes. Nothing inside a string can match:
  // there, quotation marks have a backslash in front.
  const marked = text.replace(/(?<!\\)"grid_version"\s*:\s*(\d+)(?=\s*[,}])/g, '"grid_version":"u64 $1"');
  return JSON.parse(marked, (key, value) =>
    key === "grid_version" && /^u64 \d+$/.test(value) ? BigInt(value.slice(4)) : value,
  );
}

/** Writes; a BigInt as the number it is. */
export function stringify(value) {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${stringify(item)}`);
  return `{${members.join(",")}}`;
}
