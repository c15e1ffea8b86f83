function shownForTests(value) {
  if (value === undefined || value === null || typeof value === "function") return "null";
  if (typeof value === "bigint" || typeof value === "number") return String(value);
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof Set) {
    return "[" + Array.from(value, shownForTests).join(",") + "]";
  }
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const fields = entries.map(([key, inner]) => JSON.stringify(String(key)) + ":" + shownForTests(inner));
  return "{" + fields.join(",") + "}";
}
(async () => {
  const given = JSON.parse((await import("node:fs")).readFileSync(0, "utf8"));
  const value = await {call}(...given);
  console.log("\n{mark} 0 " + shownForTests(value));
})();
