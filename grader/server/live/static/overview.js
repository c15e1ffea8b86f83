/** Alerts and key figures. */

import { bytes, byId, clock, count, el, seconds, share, span } from "./dom.js";
import { hasToken } from "./session.js";

const THROUGHPUT_INTERVALS = 5;

/** Show the whole page: `model` is the snapshot, updated by each interval. */
export function showOverview(model) {
  showHealth(model);
  const isUnused = !model.totals.programs && !Object.values(model.totals.verdicts).some(Boolean);
  byId("begin").hidden = !isUnused;
  for (const id of ["over-time", "lately-card"]) byId(id).hidden = isUnused;
  if (isUnused) showBeginning();
  byId("tiles").replaceChildren(...tiles(model));
}

/** Show how to grade something here. */
function showBeginning() {
  const address = new URL(".", location.href).href;
  const token = hasToken() ? '-H "Authorization: Bearer $GRADER_SERVER_TOKEN" ' : "";
  byId("begin-command").textContent =
    `curl ${address}v1/grade ${token}-H 'Content-Type: application/json' -d ` +
    `'{"completion": "def add(a, b): return a + b", "label": ["assert add(1, 2) == 3"]}'`;
  const trainers = hasToken() ? address.replace("//", "//any:$GRADER_SERVER_TOKEN@") : address;
  byId("begin-url").textContent = `export GRADER_URL=${trainers.replace(/\/$/, "")}`;
}

function showHealth(model) {
  const { alerts } = model;
  document.title = `${alerts.length ? `(${alerts.length}) ` : ""}Live · grader`;
  putHealth(
    alerts.length
      ? alerts.map(({ level, text }) => alert(level, GRAVITY[level], text))
      : [alert("well", "All is well.", inWords(model))],
  );
}

/** Say that the connection is lost and the data is from `then`, in seconds since 1970. */
export function showNoConnection(then) {
  document.title = "(?) Live · grader";
  putHealth([alert("bad", "No connection.", `What is shown here is from ${clock(then)}.`)]);
}

const GRAVITY = { bad: "Needs you:", warn: "Look at:" };

function alert(level, first, rest) {
  return el(`p.alert.${level}`, {}, el("b", {}, first), ` ${rest}`);
}

function putHealth(parts) {
  byId("health").replaceChildren(...parts);
  // A screen reader is told of what is new, and not every time that a number changes.
  const text = parts.map((part) => part.textContent).join(" ");
  const said = byId("health-said");
  const withoutNumbers = (words) => words.replaceAll(/[\d.:]+/g, "");
  if (withoutNumbers(said.textContent) !== withoutNumbers(text)) said.textContent = text;
}

function inWords({ state, intervals, started, now }) {
  if (state === null) return "Starting.";
  const isGrading = state.busy || intervals.slice(-THROUGHPUT_INTERVALS).some((interval) => gradedIn(interval));
  const load = state.waiting
    ? "Some submissions wait for their turn."
    : isGrading
      ? "Grading, and nothing waits."
      : "Idle.";
  return `${load} Up ${span(now - started)}.`;
}

/** The number of submissions that got a report in an interval. */
const gradedIn = (interval) => Object.values(interval.verdicts).reduce((total, n) => total + n, 0);

function tiles({ intervals, state, totals }) {
  const recently = sumOf(intervals, gradedIn);
  const passed = sumOf(intervals, (interval) => interval.verdicts.passed ?? 0);
  const suspicious = sumOf(intervals, (interval) => interval.suspicious);
  const faults = sumOf(intervals, (interval) => interval.internal_errors);
  const spanned = sumOf(intervals, (interval) => interval.span_s);
  const over = `in ${span(Math.max(2, spanned))}`;
  const all = Object.values(totals.verdicts).reduce((total, n) => total + n, 0);
  const found = [
    tile("Graded", perSecond(intervals, gradedIn), `${count(all)} since the start`),
    tile("Passed", share(passed, recently), `of ${count(recently)} ${over}`),
    waitingTile(state),
    slotsTile(state),
    latencyTile(intervals),
  ];
  if (state?.queue) found.push(cacheTile(intervals, state));
  if (totals.programs) {
    const run = perSecond(intervals, (interval) => interval.programs);
    found.push(tile("Programs run", run, `${count(totals.programs)} of /run_code`));
  }
  const signs = suspicious ? `${share(suspicious, recently)} ${over}` : over;
  found.push(tile("Suspicious", count(suspicious), signs));
  found.push(tile("Not graded", count(faults), over, { kind: faults ? "bad" : null }));
  return found;
}

const sumOf = (intervals, pick) => intervals.reduce((total, interval) => total + pick(interval), 0);

function perSecond(intervals, pick) {
  const latest = intervals.slice(-THROUGHPUT_INTERVALS);
  const value = sumOf(latest, pick) / (sumOf(latest, (interval) => interval.span_s) || 1);
  return `${value >= 9.95 ? count(Math.round(value)) : value.toFixed(1)} / s`;
}

function tile(name, value, note, { kind = null, meter = null } = {}) {
  return el(
    "div.card",
    { "data-kind": kind },
    el("dt", {}, name),
    el("dd.big", {}, value),
    el("dd.nothing", {}, meter, note),
  );
}

function waitingTile(state) {
  const waiting = state?.waiting ?? 0;
  const note = waiting ? `the first for ${span(state.oldest_s)}` : "nothing waits";
  return tile("Waiting", count(waiting), note);
}

function slotsTile(state) {
  const { busy = 0, usable = 0 } = state ?? {};
  const meter = usable
    ? el("progress", { max: usable, value: Math.min(busy, usable), "aria-label": "Busy slots" })
    : null;
  return tile("Busy slots", `${count(busy)} of ${count(usable)}`, "", { meter });
}

/** The median and 95 % quantile of the last intervals in which anything was graded. */
function latencyTile(intervals) {
  const found = intervals
    .slice(-30)
    .map((interval) => interval.latency.total)
    .filter(Boolean);
  if (!found.length) return tile("Time to a report", "–", "nothing lately");
  const middle = found.map(([p50]) => p50).sort((a, b) => a - b)[Math.floor(found.length / 2)];
  const slow = Math.max(...found.map(([, p95]) => p95));
  return tile("Time to a report", `≈ ${seconds(middle)}`, `95 % within ${seconds(slow)}`);
}

function cacheTile(intervals, { queue }) {
  const saved = sumOf(intervals, ({ cache }) => (cache.hit ?? 0) + (cache.joined ?? 0));
  const all = saved + sumOf(intervals, ({ cache }) => cache.miss ?? 0);
  const note = queue.up
    ? `${count(queue.cached)} verdicts, ${bytes(queue.cached_bytes)}`
    : "Redis does not answer";
  return tile("From cache", share(saved, all), note);
}
