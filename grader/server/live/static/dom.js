/** Make elements. Text of a model is inserted as text, or as markup that the service has made. */

const policy = window.trustedTypes?.createPolicy("fragments", { createHTML: (html) => html });

/**
 * Make an element.
 *
 * @param {string} name Its tag and its classes, such as "td.num".
 * @param {object} attributes By name; those that are false, null or undefined are left out.
 * @param {...(Node | string | number | null)} children
 */
export function el(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  element.classList.add(...classes);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * Make a table.
 *
 * @param {object} columns The class of each column by its name; "" for none.
 * @param {Array<Array>} rows Cells in the order of the columns: a child, or an array of children.
 */
export function table(columns, rows) {
  const named = (tag, kind) => (kind ? `${tag}.${kind}` : tag);
  const kinds = Object.values(columns);
  const names = Object.keys(columns);
  const heads = Object.entries(columns).map(([name, kind]) =>
    el(named("th", kind), { scope: "col" }, name),
  );
  const lines = rows.map((cells) =>
    el(
      "tr",
      {},
      ...cells.map((cell, index) =>
        el(named("td", kinds[index]), { "data-label": names[index] }, ...[cell].flat()),
      ),
    ),
  );
  return el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...lines));
}

/** Find an element by its id. */
export const byId = (id) => document.getElementById(id);

/** Insert a fragment made by a template of the service. No other code inserts markup. */
export function putFragment(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
}

/** The badge of a verdict, as templates make it; without its words if there is no room. */
export function badge({ verdict, code, words }, { short = false } = {}) {
  const shown = el("abbr", { title: words }, code);
  return el(`span.badge.v-${verdict}`, {}, shown, short ? null : ` ${words}`);
}

export function seconds(value) {
  if (value < 0.0995) return `${Math.round(1000 * value)} ms`;
  if (value < 99.5) return `${value.toPrecision(2)} s`;
  return span(value);
}

/** A long time in one unit. */
export function span(value) {
  if (value < 100) return `${Math.round(value)} s`;
  if (value < 5_400) return `${Math.round(value / 60)} min`;
  if (value < 129_600) return `${Math.round(value / 3600)} h`;
  return `${Math.round(value / 86_400)} days`;
}

export function bytes(value) {
  for (const [unit, size] of [
    ["GiB", 2 ** 30],
    ["MiB", 2 ** 20],
    ["KiB", 2 ** 10],
  ]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  }
  return `${value} B`;
}

export const count = (value) => value.toLocaleString("en");

export function share(part, whole) {
  if (!whole) return "–";
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 1) return "< 1 %";
  return `${percent > 99 && percent < 100 ? "> 99" : Math.round(percent)} %`;
}

export const reward = (value) =>
  value === null ? "none" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

export const clock = (at) => new Date(1000 * at).toLocaleTimeString("en-GB");
