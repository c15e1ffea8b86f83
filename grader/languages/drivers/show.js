let seedForTests = 42;
function randomForTests() {
  seedForTests = (seedForTests * 16807) % 2147483647;
  return seedForTests / 2147483647;
}
function shownForTests(value) {
  return JSON.stringify(value, function (key, inner) {
    const own = this[key];
    const kind = Object.prototype.toString.call(own).slice(8, -1);
    if (["Undefined", "Function", "AsyncFunction", "GeneratorFunction"].includes(kind)) {
      return `(${typeof own})`;
    }
    if (["BigInt", "Symbol", "Date", "RegExp", "Error"].includes(kind)) {
      return `(${kind}) ${kind === "Date" ? own.getTime() : String(own)}`;
    }
    if (typeof own === "number") return Number.isFinite(own) ? own : `(number) ${own}`;
    if (inner === null || typeof inner !== "object" || Array.isArray(inner)) return inner;
    if (kind === "Map" || kind === "Set") {
      return {[`(${kind})`]: [...own].map((each) => shownForTests(each)).sort()};
    }
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
