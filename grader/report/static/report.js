"use strict";

// The report: filters, the open sample, keys. The address has all that was chosen, and after it the
// open sample: report.html?q=WORDS&sort=-reward#NAME.

const PLACES = ["", "main", "overview", "groups", "samples", "problems", "flips", "trends", "compared"];

const byId = (id) => document.getElementById(id);
const percent = (share) => (share === null ? "" : `${(100 * share).toFixed(0)} %`);
const seconds = (value) =>
  value === null ? "" : value < 1 ? `${(1000 * value).toFixed(0)} ms` : `${value.toFixed(2)} s`;
const size = (value) => (value === null ? "" : `${(value / 1048576).toFixed(1)} MiB`);
const signed = (value) =>
  value === null ? "none" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

/** Return a difference; nothing if there is none to tell. */
const moved = (value) => (value === null ? "" : value === 0 ? "0" : signed(value));
const isCompared = () => byId("compared") !== null;

function badge(verdict) {
  const { code, label } = verdicts[verdict];
  return make("span", { class: `badge v-${verdict}`, title: label }, make("abbr", {}, code));
}

const verdicts = JSON.parse(byId("verdicts").textContent);
const noFilters = () => ({
  text: "",
  code: "",
  verdicts: new Set(),
  only: new Set(),
  group: null,
  first: -Infinity,
  last: Infinity,
});
const filters = noFilters();
const CODE_WAIT_MS = 250;
let samples;
let groups;
let kinds;
/** Lines of the samples whose code has `filters.code`; null while that is not known. */
let linesWithCode = null;
let rowsByName;
let opened = null;

// ------------------------------------------------------------ tables

function address(row) {
  const taken = PLACES.includes(row.name) || row.name.startsWith("@");
  const own = !taken && rowsByName.get(row.name) === row;
  return `#${own ? encodeURIComponent(row.name) : `@${row.line}`}`;
}

function flags(row) {
  const shown = [];
  if (row.flipped) shown.push(make("span", { class: "flag" }, "flipped"), `${row.differs}. `);
  if (row.suspicion) shown.push(make("span", { class: "flag alarm" }, row.suspicion));
  if (row.limit) shown.push(make("span", { class: "flag" }, `${row.limit} limit`));
  return shown;
}

/**
 * Sort what lost reward against the other file first, then what did not pass, then by problem as the
 * file has them.
 */
function failuresFirst(rows) {
  const places = new Map();
  for (const row of rows) if (!places.has(row.problem)) places.set(row.problem, places.size);
  const passed = (row) => Number(row.verdict === "passed");
  const lost = (row) => Math.min(row.change ?? 0, 0);
  return rows.sort(
    (a, b) =>
      lost(a) - lost(b) ||
      passed(a) - passed(b) ||
      places.get(a.problem) - places.get(b.problem) ||
      a.line - b.line,
  );
}

function sampleColumns() {
  const hasSteps = byId("first-step") !== null;
  const step = { key: "step", label: "Step", numeric: true, cell: (row) => String(row.step ?? "") };
  const before = {
    key: "before",
    label: "Before",
    cell: (row) => (row.before ? badge(row.before) : ""),
  };
  const change = { key: "change", label: "Change", numeric: true, cell: (row) => moved(row.change) };
  return [
    ...(hasSteps ? [step] : []),
    { key: "verdict", label: "Verdict", cell: (row) => badge(row.verdict) },
    ...(isCompared() ? [before] : []),
    {
      key: "name",
      label: "Sample",
      kind: "name",
      cell: (row) => make("a", { class: "open", href: address(row) }, row.name),
    },
    { key: "reward", label: "Reward", numeric: true, cell: (row) => signed(row.reward) },
    ...(isCompared() ? [change] : []),
    { key: "score", label: "Score", numeric: true, cell: (row) => row.score?.toFixed(2) ?? "none" },
    { key: "passed", label: "Cases", numeric: true, cell: (row) => `${row.passed}/${row.total}` },
    { key: "cpu", label: "CPU", numeric: true, cell: (row) => seconds(row.cpu) },
    { key: "cpu_share", label: "of limit", numeric: true, cell: (row) => percent(row.cpu_share) },
    { key: "memory", label: "Memory", numeric: true, cell: (row) => size(row.memory) },
    {
      label: "What happened",
      kind: "says",
      cell: (row) => {
        const says = make("span", {}, ...flags(row));
        says.append(row.feedback);
        return says;
      },
    },
  ];
}

/** Return the columns of what moves and of attacks, if anything does or there are any. */
function problemTrends(rows) {
  const points = (share) =>
    share === null ? "" : `${share < 0 ? "−" : "+"}${(100 * Math.abs(share)).toFixed(0)}`;
  const shares = [
    { key: "early", label: "First half", numeric: true, cell: (row) => percent(row.early) },
    { key: "late", label: "Second half", numeric: true, cell: (row) => percent(row.late) },
    { key: "change", label: "Change", numeric: true, cell: (row) => points(row.change) },
  ];
  const hacks = [
    { key: "hacks", label: "Hacks", numeric: true, cell: (row) => String(row.hacks) },
    { key: "paid_hacks", label: "paid", numeric: true, cell: (row) => String(row.paid_hacks) },
  ];
  return [
    ...(rows.some((row) => row.early !== null) ? shares : []),
    ...(rows.some((row) => row.hacks) ? hacks : []),
  ];
}

function problemColumns(rows) {
  const link = (row) => {
    const button = make("a", { class: "open", href: "#samples" }, row.id);
    button.addEventListener("click", () => chooseProblem(row.id));
    return button;
  };
  const marks = (row) =>
    make("span", {}, ...row.marks.map((mark) => make("span", { class: "flag alarm" }, mark)));
  return [
    { key: "id", label: "Problem", kind: "name", cell: link },
    { key: "samples", label: "Samples", numeric: true, cell: (row) => String(row.samples) },
    { key: "passed", label: "Passed", numeric: true, cell: (row) => String(row.passed) },
    { key: "rate", label: "Pass rate", numeric: true, cell: (row) => percent(row.rate) },
    ...passAtColumns(),
    ...problemTrends(rows),
    { key: "reward", label: "Mean reward", numeric: true, cell: (row) => signed(row.reward) },
    ...(isCompared() ? comparedColumns() : []),
    { label: "Verdicts", cell: (row) => mix(row.verdicts) },
    { label: "", cell: marks },
  ];
}

function comparedColumns() {
  const old = (row) => (row.reward_before === null ? "" : signed(row.reward_before));
  return [
    { key: "reward_before", label: "Before", numeric: true, cell: old },
    { key: "gain", label: "Difference", numeric: true, cell: (row) => moved(row.gain) },
    { key: "effect", label: "Effect", cell: (row) => row.effect },
  ];
}

function passAtColumns() {
  const ks = JSON.parse(byId("problems").dataset.ks).filter((k) => k > 1);
  return ks.map((k) => ({
    key: `pass_at_${k}`,
    label: `pass@${k}`,
    numeric: true,
    cell: (row) => percent(row[`pass_at_${k}`]),
  }));
}

function mix(counts) {
  const parts = counts.map(([verdict, count]) => {
    const part = make("span", { class: "in-mix" }, badge(verdict));
    part.append(` ${count}`);
    return part;
  });
  return make("span", {}, ...parts);
}

// ------------------------------------------------------------ filters

function applyFilters() {
  const matches = matcher(filters.text, kinds);
  const accepts = (row) =>
    (filters.verdicts.size === 0 || filters.verdicts.has(row.verdict)) &&
    (row.step === null
      ? filters.first === -Infinity && filters.last === Infinity
      : filters.first <= row.step && row.step <= filters.last) &&
    [...filters.only].every((flag) => row[flag]) &&
    (linesWithCode === null || linesWithCode.has(row.line)) &&
    matches(row);
  const { group } = filters;
  samples.filter((row) => accepts(row) && (group === null || row[group.key] === group.value));
  showGroups(samples.rows.filter(accepts));
  const chip = byId("group-filter");
  chip.hidden = group === null;
  if (group) chip.textContent = `${group.label} ${titleOf(group)} ×`;
  byId("clear").hidden = !(
    filters.text ||
    filters.code ||
    filters.verdicts.size ||
    filters.only.size ||
    filters.first > -Infinity ||
    filters.last < Infinity ||
    group !== null
  );
  keepView();
}

/** Find the samples whose code has a text, then show them; what was typed since is found instead. */
async function findCode() {
  const { code } = filters;
  const told = byId("code-told");
  told.textContent = code ? "searching …" : "";
  keepView();
  if (code === "") linesWithCode = null;
  else {
    await new Promise((resolve) => setTimeout(resolve, CODE_WAIT_MS));
    if (code !== filters.code) return;
    try {
      const lines = await source.linesWith(code.toLowerCase(), samples.rows);
      if (code !== filters.code) return;
      linesWithCode = new Set(lines);
      const without = samples.rows.filter((row) => row.block === null).length;
      told.textContent = without && byId("blocks") ? `not searched: ${without} without a page` : "";
    } catch (error) {
      told.textContent = `Code cannot be searched: ${error.message}.`;
    }
  }
  applyFilters();
}

/** Add conditions to the search, or take them away if it has them, as a click on a bar does. */
function search(conditions) {
  const typed = terms(filters.text);
  const clicked = terms(conditions);
  const isOn = clicked.every(({ term }) => typed.some((each) => each.term === term));
  const columns = clicked.map(({ column }) => column);
  const others = typed.filter(({ column }) => !columns.includes(column));
  filters.text = [...others, ...(isOn ? [] : clicked)].map(({ term }) => term).join(" ");
  byId("search").value = filters.text;
  applyFilters();
}

function chooseProblem(id) {
  clearFilters();
  filters.group = { key: "problem", label: "problem", value: id };
  applyFilters();
}

// ------------------------------------------------------------ groups

const titleOf = ({ key, value }) =>
  value === "" || value === null ? "none" : (["verdict", "before"].includes(key) && verdicts[value].label) || String(value);

/** Show the rows in groups of the chosen kind, the largest first. */
function showGroups(rows) {
  const choice = byId("group");
  byId("grouped").hidden = choice.value === "";
  if (choice.value === "") return;
  const label = choice.selectedOptions[0].textContent;
  const found = new Map();
  for (const row of rows) {
    const value = row[choice.value];
    if (found.has(value)) found.get(value).push(row);
    else found.set(value, [row]);
  }
  groups.rows = [...found].map(([value, members]) => {
    const rated = members.filter((row) => row.reward !== null);
    const passed = members.filter((row) => row.verdict === "passed").length;
    const hacks = members.filter((row) => row.hack);
    const changed = members.filter((row) => row.change !== null);
    const mean = rated.reduce((sum, row) => sum + row.reward, 0) / rated.length;
    const group = { key: choice.value, label, value };
    return {
      group,
      name: titleOf(group),
      samples: members.length,
      rate: rated.length ? passed / rated.length : null,
      reward: rated.length ? mean : null,
      change: changed.length
        ? changed.reduce((sum, row) => sum + row.change, 0) / changed.length
        : null,
      hacks: hacks.length,
      paid: hacks.filter((row) => row.verdict === "passed").length,
    };
  });
  groups.rows.sort((a, b) => b.samples - a.samples);
  groups.update();
}

/** Offer only what tells at least two samples apart. */
function offerGroups() {
  for (const option of [...byId("group").options]) {
    const first = samples.rows[0]?.[option.value];
    if (option.value && samples.rows.every((row) => row[option.value] === first)) option.remove();
  }
}

function groupColumns() {
  const link = (row) => {
    const chosen = make("a", { class: "open", href: "#samples" }, row.name);
    chosen.addEventListener("click", () => {
      filters.group = row.group;
      applyFilters();
    });
    return chosen;
  };
  return [
    { key: "name", label: "Group", kind: "name", cell: link },
    { key: "samples", label: "Samples", numeric: true, cell: (row) => String(row.samples) },
    { key: "rate", label: "Pass rate", numeric: true, cell: (row) => percent(row.rate) },
    { key: "reward", label: "Mean reward", numeric: true, cell: (row) => signed(row.reward) },
    ...(isCompared()
      ? [{ key: "change", label: "Mean change", numeric: true, cell: (row) => moved(row.change) }]
      : []),
    { key: "hacks", label: "Hacks", numeric: true, cell: (row) => String(row.hacks) },
    { key: "paid", label: "paid", numeric: true, cell: (row) => String(row.paid) },
  ];
}

function toggle(button, set, value) {
  const pressed = !set.has(value);
  if (pressed) set.add(value);
  else set.delete(value);
  button.setAttribute("aria-pressed", String(pressed));
  applyFilters();
}

const inputs = () => [...document.querySelectorAll(".filters input")];
const chips = () => [...document.querySelectorAll(".chip")];
const meaning = (chip) => chip.dataset.verdict ?? chip.dataset.only;

/** Put what was chosen into the address, so that it can be reloaded and shared. */
function keepView() {
  const view = new URLSearchParams();
  for (const field of inputs()) if (field.value) view.set(field.name, field.value);
  for (const chip of [...filters.verdicts, ...filters.only]) view.append("only", chip);
  if (byId("group").value) view.set("by", byId("group").value);
  if (filters.group) view.set("group", JSON.stringify([filters.group.key, filters.group.value]));
  const { column, up } = samples.order ?? {};
  if (column) view.set("sort", `${up ? "" : "-"}${column.key}`);
  const query = view.toString();
  history.replaceState(null, "", `${query ? `?${query}` : location.pathname}${location.hash}`);
}

/** Choose what the address says, as far as this report has it. */
function restoreView() {
  const view = new URLSearchParams(location.search);
  for (const field of inputs()) {
    field.value = view.get(field.name) ?? "";
    readField(field);
  }
  for (const chip of chips()) {
    if (!view.getAll("only").includes(meaning(chip))) continue;
    (chip.dataset.verdict ? filters.verdicts : filters.only).add(meaning(chip));
    chip.setAttribute("aria-pressed", "true");
  }
  const choice = [...byId("group").options].find((each) => each.value === view.get("by"));
  if (choice) choice.selected = true;
  filters.group = groupOf(view.get("group"));
  const [, down, key] = /^(-?)(\w+)$/.exec(view.get("sort") ?? "") ?? [];
  const column = key && samples.columns.find((each) => each.key === key);
  if (column) samples.sortBy(column, down === "");
  if (filters.code) findCode();
  applyFilters();
}

/** Return the group that an address names; null if it names none. */
function groupOf(text) {
  try {
    const [key, value] = JSON.parse(text);
    if (!samples.rows.some((row) => row[key] === value)) return null;
    const named = [...byId("group").options].find((each) => each.value === key);
    return { key, label: named?.textContent ?? key, value };
  } catch {
    return null;
  }
}

/** Take what a field holds into the filters. */
function readField(field) {
  if (field.id === "search") filters.text = field.value;
  else if (field.id === "code") filters.code = field.value;
  else {
    const [bound, none] = field.id === "first-step" ? ["first", -Infinity] : ["last", Infinity];
    filters[bound] = field.value === "" ? none : field.valueAsNumber;
  }
}

function clearFilters() {
  Object.assign(filters, noFilters());
  linesWithCode = null;
  byId("code-told").textContent = "";
  for (const field of inputs()) field.value = "";
  for (const chip of chips()) chip.setAttribute("aria-pressed", "false");
  applyFilters();
}

/** Show the samples of the steps at a place in a chart. */
function chooseStepsAt(svg, x) {
  const steps = JSON.parse(svg.closest("[data-steps]").dataset.steps);
  if (!steps.length) return;
  // The axis has a line at the first and at the last of them.
  const lines = [...svg.querySelectorAll(".axis.x path")].map((line) => line.getBoundingClientRect().x);
  const [start, end] = [Math.min(...lines), Math.max(...lines)];
  const place = Math.round(((x - start) / (end - start)) * (steps.length - 1));
  const chosen = steps[Math.max(0, Math.min(steps.length - 1, place))];
  for (const [index, id] of ["first-step", "last-step"].entries()) {
    byId(id).value = chosen[index];
    readField(byId(id));
  }
  applyFilters();
  byId("samples").scrollIntoView();
}

function connectFilters() {
  for (const field of inputs()) {
    field.addEventListener("input", () => {
      readField(field);
      if (field.id === "code") findCode();
      else applyFilters();
    });
  }
  byId("overview").addEventListener("click", ({ target }) => {
    const found = target.closest("[data-search]");
    if (!found) return;
    search(found.dataset.search);
    byId("samples").scrollIntoView();
  });
  byId("trends")?.addEventListener("click", ({ target, clientX }) => {
    const svg = target.closest("svg");
    if (svg) chooseStepsAt(svg, clientX);
  });
  for (const button of chips()) {
    const { verdict, only } = button.dataset;
    button.addEventListener("click", () =>
      verdict
        ? toggle(button, filters.verdicts, verdict)
        : toggle(button, filters.only, only),
    );
  }
  byId("clear").addEventListener("click", clearFilters);
  byId("group").addEventListener("change", applyFilters);
  byId("group-filter").addEventListener("click", () => {
    filters.group = null;
    applyFilters();
  });
}

// ------------------------------------------------------------ one sample

/** Return the row that the address names, or null. */
function rowOfAddress() {
  const text = location.hash.slice(1);
  if (PLACES.includes(text)) return null;
  let name;
  try {
    name = decodeURIComponent(text);
  } catch {
    return null;
  }
  const line = /^@(\d+)$/.exec(name);
  return (line && samples.rows.find((row) => row.line === Number(line[1]))) ?? rowsByName.get(name) ?? null;
}

async function show() {
  const row = rowOfAddress();
  const before = opened;
  opened = row;
  byId("list").hidden = row !== null;
  byId("sample").hidden = row === null;
  byId("unknown").hidden = row !== null || PLACES.includes(location.hash.slice(1));
  byId("unknown").textContent = `This report has no sample ${location.hash.slice(1)}.`;
  document.title = row ? `${row.name} · grader` : byId("list").dataset.title;
  if (row === null) {
    if (before) (samples.reveal(before) ?? byId("search")).focus();
    return;
  }
  const index = samples.shown.indexOf(row);
  step(byId("previous"), samples.shown[index - 1]);
  step(byId("next"), samples.shown[index + 1]);
  byId("place").textContent =
    index < 0 ? "" : `${index + 1} of ${samples.shown.length.toLocaleString("en")}`;
  await fill(byId("sample-content"), row);
  scrollTo(0, 0);
  byId("sample-name")?.focus();
}

function step(link, row) {
  if (row) link.href = address(row);
  else link.removeAttribute("href");
}

/** The only way to insert markup; the Content-Security-Policy blocks any other. */
const door = window.trustedTypes?.createPolicy("fragments", { createHTML: (html) => html }) ?? {
  createHTML: (html) => html,
};

/** Insert a sample's HTML, which our own templates have escaped. */
async function fill(place, row) {
  try {
    const html = await source.sample(row);
    if (opened !== row) return;
    if (html !== null) place.innerHTML = door.createHTML(html);
    else place.replaceChildren(brief(row));
  } catch (error) {
    place.replaceChildren(make("p", { class: "warning" }, `This sample cannot be shown: ${error.message}.`));
  }
}

/** Show the table's fields of a sample for whose page the file had no room. */
function brief(row) {
  return make(
    "article",
    { class: "card" },
    make("h2", { id: "sample-name", tabindex: "-1" }, row.name),
    make("p", {}, badge(row.verdict), ` reward ${signed(row.reward)}, ${row.passed} of ${row.total} cases`),
    make("p", { class: "feedback" }, row.feedback),
    make("p", { class: "nothing" }, byId("list").dataset.more),
  );
}

// ------------------------------------------------------------ keys and theme

function onKey(event) {
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "Escape" && byId("help").open) return;
  if (event.key === "Escape" && opened) location.hash = "#samples";
  else if (event.key === "Escape") {
    clearFilters();
    if (typing) event.target.blur();
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !opened) {
    byId("search").focus();
    event.preventDefault();
  } else if (event.key === "?") byId("help").showModal();
  else if (opened && "npjk".includes(event.key)) {
    const link = byId("nj".includes(event.key) ? "next" : "previous");
    if (link.href) location.hash = link.hash;
  } else if (!opened && (event.key === "j" || event.key === "k") && !event.defaultPrevented) {
    samples.links()[0]?.focus();
  }
}

const THEME = "grader-theme";

function connectTheme() {
  try {
    document.documentElement.dataset.theme = localStorage.getItem(THEME) ?? "";
  } catch {
    // The browser keeps nothing for this page.
  }
  const button = byId("theme");
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = getComputedStyle(root).getPropertyValue("--is-dark").trim() === "1";
    root.dataset.theme = isDark ? "light" : "dark";
    try {
      localStorage.setItem(THEME, root.dataset.theme);
    } catch {
      // The browser keeps nothing for this page.
    }
  });
}

// ------------------------------------------------------------ start

const source = findSource();

async function start() {
  connectTheme();
  byId("help-close").addEventListener("click", () => byId("help").close());
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  const tables = await source.tables();
  kinds = kindsOf(tables.samples);
  rowsByName = new Map();
  for (const row of tables.samples) {
    row.haystack = `${row.name} ${row.problem} ${row.feedback}`.toLowerCase();
    if (!rowsByName.has(row.name)) rowsByName.set(row.name, row);
  }
  samples = new Table(byId("samples"), failuresFirst(tables.samples), sampleColumns(), "samples");
  groups = new Table(byId("grouped"), [], groupColumns(), "groups");
  offerGroups();
  if (isCompared()) tables.problems.sort((a, b) => (a.gain ?? Infinity) - (b.gain ?? Infinity));
  new Table(byId("problems"), tables.problems, problemColumns(tables.problems), "problems");
  connectFilters();
  restoreView();
  samples.onSort = keepView;
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", show);
  await show();
  // The rows above it have moved it since the browser went there.
  if (!opened) document.querySelector(":target")?.scrollIntoView();
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  byId("failure").hidden = false;
  byId("failure").textContent = `This report cannot be shown: ${error.message}`;
});
