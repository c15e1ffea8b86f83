/** The samples that the service keeps: a list that updates itself, and one sample in full. */

import {
  badge,
  byId,
  bytes,
  clock,
  count,
  el,
  putFragment,
  reward,
  seconds,
  span,
  table,
} from "./dom.js";
import { request } from "./session.js";

export const KINDS = {
  attack: "Like an attack",
  ungraded: "Not graded",
  limit: "At a limit",
  failed: "Failed",
  passed: "Passed",
};
const LISTED = 200;
const LATELY = 6;

/** Known samples by kind, the newest first; at most `LISTED` of each. */
const known = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, []]));
let chosen = "";
let opened = "";

/** Forget everything: the service restarted, or the user signed out. */
export function forgetSamples() {
  for (const kind of Object.keys(known)) known[kind] = [];
  delete byId("samples-list").dataset.keys;
  byId("samples-list").replaceChildren();
  byId("lately").replaceChildren();
  byId("sample-body").replaceChildren();
}

/** Add samples, the newest first. */
export function addSamples(samples) {
  for (const [kind, list] of Object.entries(known)) {
    const keys = new Set(list.map(({ key }) => key));
    const fresh = samples.filter((sample) => sample.kind === kind && !keys.has(sample.key));
    if (fresh.length) known[kind] = [...fresh, ...list].sort(newestFirst).slice(0, LISTED);
  }
}

const numberOf = ({ key }) => Number(key.slice(key.lastIndexOf("-") + 1));
const newestFirst = (one, other) => numberOf(other) - numberOf(one);

/** Show the last few of every kind that deserves a look. */
export function showLately(keep) {
  const kinds = ["attack", "ungraded", "limit", "failed"];
  if (keep.samples === "none") {
    byId("lately").replaceChildren(
      el("p.nothing", {}, "No samples are kept (GRADER_KEEP_SAMPLES=none)."),
    );
    return;
  }
  fill(
    byId("lately"),
    kinds.map((kind) => {
      const rows = known[kind].slice(0, LATELY);
      const list = rows.length
        ? el("ul.plain", {}, ...rows.map(latelyRow))
        : el("p.nothing", {}, "None.");
      return el(
        "section",
        { "data-kind": kind },
        el("h3", {}, el("a", { href: `#/samples/${kind}` }, KINDS[kind])),
        list,
      );
    }),
  );
}

function latelyRow(sample) {
  return el(
    "li",
    {},
    el("a", { href: `#/sample/${sample.key}`, title: sample.feedback }, sample.name),
    badge(sample, { short: true }),
    el("time", {}, clock(sample.at)),
  );
}

/** Replace children only if they differ, so that the keyboard focus stays. */
function fill(parent, children) {
  children.forEach((child, index) => {
    const old = parent.children[index];
    if (!old) parent.append(child);
    else if (!old.isEqualNode(child)) replaceKeepingFocus(old, child);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

function replaceKeepingFocus(old, child) {
  const focused = old.contains(document.activeElement)
    ? document.activeElement.getAttribute("href")
    : null;
  old.replaceWith(child);
  if (focused !== null) child.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

// ---------------------------------------------------------------- the list

/** Choose a kind, "" for all, and what is searched, as addresses hold it. Fetches the samples. */
export async function chooseList(kind, words) {
  chosen = kind in KINDS ? kind : "";
  byId("search").value = decoded(words);
  showKinds();
  showList();
  const query = chosen ? `?kind=${chosen}` : "";
  const { samples } = await (await request(`live/samples${query}`)).json();
  addSamples(samples);
  showList();
}

function decoded(words) {
  try {
    return decodeURIComponent(words);
  } catch {
    return words;
  }
}

/** Return the address of the list of a kind, with what is searched. */
function addressOf(kind) {
  const words = byId("search").value;
  const search = words ? `/${encodeURIComponent(words)}` : "";
  return kind || search ? `#/samples/${kind}${search}` : "#/samples";
}

function showKinds() {
  byId("kinds").replaceChildren(
    ...["", ...Object.keys(KINDS)].map((each) =>
      el(
        "a",
        { href: addressOf(each), "aria-current": each === chosen ? "true" : null },
        KINDS[each] ?? "All",
      ),
    ),
  );
}

/** Show what was searched, and put it into the address. */
export function searchList() {
  history.replaceState(null, "", addressOf(chosen));
  showKinds();
  showList();
}

/** Move the focus down or up by one sample; to the first if none has it. */
export function moveTo(step) {
  const links = [...byId("samples-list").querySelectorAll("a")];
  const focused = links.indexOf(document.activeElement);
  links[focused < 0 ? 0 : focused + step]?.focus();
}

function listed() {
  const kinds = chosen ? [chosen] : Object.keys(KINDS);
  const words = byId("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return kinds
    .flatMap((kind) => known[kind])
    .sort(newestFirst)
    .filter((sample) => words.every((word) => searched(sample).includes(word)))
    .slice(0, LISTED);
}

const searched = (sample) =>
  [
    sample.name,
    sample.problem,
    sample.verdict,
    sample.words,
    sample.feedback,
    sample.endpoint,
    ...sample.signs,
  ]
    .join(" ")
    .toLowerCase();

const COLUMNS = {
  When: "num",
  Verdict: "",
  Reward: "num",
  Cases: "num",
  Sample: "name",
  Took: "num",
  "What happened": "says",
};

/** Redraw the list only if it has changed, so that it does not move under the pointer. */
export function showList() {
  const samples = listed();
  byId("samples-told").textContent = samples.length
    ? `${count(samples.length)} shown, the newest first.`
    : "None are kept that fit.";
  const shown = byId("samples-list");
  const keys = samples.map(({ key }) => key).join(" ");
  if (shown.dataset.keys === keys) return;
  shown.dataset.keys = keys;
  const focused = shown.contains(document.activeElement)
    ? document.activeElement.getAttribute("href")
    : null;
  shown.replaceChildren(...(samples.length ? [table(COLUMNS, samples.map(row))] : []));
  if (focused) shown.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

function row(sample) {
  const name = el("a", { href: `#/sample/${sample.key}` }, sample.name);
  const isOfAnother = sample.problem && sample.problem !== sample.name;
  const signs = sample.signs.map((sign) => el("span.flag.alarm", {}, sign.replaceAll("_", " ")));
  return [
    el("time", {}, clock(sample.at)),
    badge(sample),
    reward(sample.reward),
    `${sample.passed} of ${sample.total}`,
    [name, isOfAnother ? el("small", {}, ` ${sample.problem}`) : null],
    seconds(sample.took_s),
    [...signs, sample.feedback],
  ];
}

// ---------------------------------------------------------------- one of them

/** Show a sample in full, as the service's template makes it. */
export async function openSample(key) {
  opened = key;
  const body = byId("sample-body");
  try {
    const html = await (await request(`live/samples/${encodeURIComponent(key)}`)).text();
    if (opened !== key) return;
    putFragment(body, html);
    body.dataset.key = key;
    showNeighbours();
    body.querySelector("h2")?.focus({ preventScroll: true });
  } catch (error) {
    if (!error.status) throw error;
    body.replaceChildren(
      el("p.card", { role: "alert" }, `There is nothing to show: ${error.message}.`),
    );
  }
}

/** Set the links beside a sample to the next newer and older samples in the list. */
export function showNeighbours() {
  const samples = listed();
  const index = samples.findIndex(({ key }) => key === opened);
  for (const [id, step] of [
    ["previous", -1],
    ["next", 1],
  ]) {
    const found = index < 0 ? undefined : samples[index + step];
    if (found) byId(id).href = `#/sample/${found.key}`;
    else byId(id).removeAttribute("href");
  }
  byId("back").href = addressOf(chosen);
}

/** Say what is kept, and for how long. */
export function showKeeping(keep, kept) {
  const number = Object.values(kept.by_kind).reduce((total, n) => total + n, 0);
  const which = {
    none: "No samples are kept",
    failed: "Samples that did not pass, or looked like an attack, are kept",
    all: "All samples are kept",
  }[keep.samples];
  const how =
    `${which} (GRADER_KEEP_SAMPLES=${keep.samples}): prompt, completion, code and report, in this ` +
    `process's memory and nowhere else, the last ${count(keep.count)} of each kind, ` +
    `${bytes(keep.total_bytes)} in all at most, for ${span(keep.lifetime_s)}. ` +
    `Now ${count(number)}, ${bytes(kept.bytes)}.`;
  byId("keeping").textContent =
    keep.samples === "none"
      ? "No samples are kept (GRADER_KEEP_SAMPLES=none): the figures are counts, and hold nothing of any sample."
      : how;
}
