const standIn = new Proxy(function () {}, {
  get: (_target, name) => {
    if (name === Symbol.toPrimitive) return () => "";
    if (name === Symbol.iterator) return function* () {};
    return name === "then" ? undefined : standIn;
  },
  apply: () => standIn,
  construct: () => standIn,
  set: () => true,
});
export default standIn;
export const exportsForTests = standIn;
