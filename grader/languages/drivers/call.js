// A linked list of LeetCode's is a list, and a tree its values level by level.
function readForTests(value, type) {
  const [kind] = type.match(/ListNode|TreeNode/) ?? [];
  if (!kind || !Array.isArray(value)) return value;
  if (/\[\]|Array/.test(type)) return value.map((each) => readForTests(each, kind));
  const isList = kind === "ListNode";
  const defined = isList ? typeof ListNode : typeof TreeNode;
  const Node = defined !== "function" ? Object : isList ? ListNode : TreeNode;
  const links = isList ? ["next"] : ["left", "right"];
  const all = value.map((each) => {
    if (each === null) return null;
    return Object.assign(new Node(), { val: each }, ...links.map((link) => ({ [link]: null })));
  });
  let free = 1;
  for (const node of all) {
    for (const link of links) if (node !== null && free < all.length) node[link] = all[free++];
  }
  return all[0] ?? null;
}
function valuesForTests(first) {
  const nodes = first ? [first] : [];
  const all = [];
  for (let at = 0; at < nodes.length; at++) {
    const node = nodes[at];
    all.push(node === null ? null : node.val);
    if (node === null) continue;
    if (!("next" in node)) nodes.push(node.left ?? null, node.right ?? null);
    else if (node.next) nodes.push(node.next);
  }
  while (all.length && all[all.length - 1] === null) all.pop();
  return all;
}
function shownForTests(value) {
  if (value === undefined || value === null) return "null";
  if (typeof value === "bigint" || typeof value === "number") return String(value);
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof Set) {
    return "[" + Array.from(value, shownForTests).join(",") + "]";
  }
  if (["ListNode", "TreeNode"].includes(value.constructor?.name)) return shownForTests(valuesForTests(value));
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const fields = entries
    .filter(([, inner]) => !["undefined", "function", "symbol"].includes(typeof inner))
    .map(([key, inner]) => JSON.stringify(String(key)) + ":" + shownForTests(inner));
  return "{" + fields.join(",") + "}";
}
// Here, no variable of the driver can have the name of the function.
const callForTests = (...allForTests) => {call}(...allForTests);
(async () => {
  const files = await import("node:fs");
  const types = {types};
  const given = JSON.parse(files.readFileSync(0, "utf8")).map((each, at) => readForTests(each, types[at] ?? ""));
  let value = await callForTests(...given);
  const result = {result}.trim();
  if (/^[^[<]*(ListNode|TreeNode)[^[>]*$/.test(result)) value = valuesForTests(value);
  else if (/^(Array<)?[^[<]*(ListNode|TreeNode)[^[<]*(\[\]|>)$/.test(result) && Array.isArray(value)) {
    value = value.map(valuesForTests);
  }
  files.writeFileSync(1, "\n{mark} 0 " + shownForTests(value) + "\n");
})();
