/** Whether all is well, in words and in figures. */

import { bytes, byId, clock, count, el, seconds, share, span } from "./dom.js";

const THROUGHPUT_BEATS = 5;

/** Show a whole state of the page: `model` is what the snapshot brought, kept up by beats. */
export function showOverview(model) {
  showHealth(model);
  byId("tiles").replaceChildren(...tiles(model));
}

function showHealth(model) {
  const { concerns } = model;
  document.title = `${concerns.length ? `(${concerns.length}) ` : ""}Live · grader`;
  putHealth(
    concerns.length
      ? concerns.map(({ level, text }) => concern(level, GRAVITY[level], text))
      : [concern("well", "All is well.", inWords(model))],
  );
}

/** Say that nothing more is known: what is shown is from `then`, in seconds since 1970. */
export function showNoConnection(then) {
  document.title = "(?) Live · grader";
  putHealth([concern("bad", "No connection.", `What is shown here is from ${clock(then)}.`)]);
}

const GRAVITY = { bad: "Needs you:", warn: "Look at:" };

function concern(level, first, rest) {
  return el(`p.concern.${level}`, {}, el("b", {}, first), ` ${rest}`);
}

function putHealth(parts) {
  byId("health").replaceChildren(...parts);
  // A screen reader is told of what is new, and not every time that a number changes.
  const text = parts.map((part) => part.textContent).join(" ");
  const said = byId("health-said");
  const withoutNumbers = (words) => words.replaceAll(/[\d.:]+/g, "");
  if (withoutNumbers(said.textContent) !== withoutNumbers(text)) said.textContent = text;
}

function inWords({ state, beats, started, now }) {
  if (state === null) return "Starting.";
  const isGrading = state.busy || beats.slice(-THROUGHPUT_BEATS).some((beat) => gradedIn(beat));
  const load = state.waiting
    ? "Some submissions wait for their turn."
    : isGrading
      ? "Grading, and nothing waits."
      : "Idle.";
  return `${load} Up ${span(now - started)}.`;
}

/** How many submissions got a report in a beat. */
const gradedIn = (beat) => Object.values(beat.verdicts).reduce((total, n) => total + n, 0);

function tiles({ beats, state, totals }) {
  const recently = sumOf(beats, gradedIn);
  const passed = sumOf(beats, (beat) => beat.verdicts.passed ?? 0);
  const suspicious = sumOf(beats, (beat) => beat.suspicious);
  const faults = sumOf(beats, (beat) => beat.internal_errors);
  const spanned = sumOf(beats, (beat) => beat.span_s);
  const over = `in ${span(Math.max(2, spanned))}`;
  const all = Object.values(totals.verdicts).reduce((total, n) => total + n, 0);
  const found = [
    tile("Graded", perSecond(beats, gradedIn), `${count(all)} since the start`),
    tile("Passed", share(passed, recently), `of ${count(recently)} ${over}`),
    waitingTile(state),
    slotsTile(state),
    latencyTile(beats),
  ];
  if (state?.queue) found.push(cacheTile(beats, state));
  if (totals.programs) {
    const run = perSecond(beats, (beat) => beat.programs);
    found.push(tile("Programs run", run, `${count(totals.programs)} of /run_code`));
  }
  const signs = suspicious ? `${share(suspicious, recently)} ${over}` : over;
  found.push(tile("Suspicious", count(suspicious), signs));
  found.push(tile("Our faults", count(faults), over, { kind: faults ? "bad" : null }));
  return found;
}

const sumOf = (beats, pick) => beats.reduce((total, beat) => total + pick(beat), 0);

function perSecond(beats, pick) {
  const latest = beats.slice(-THROUGHPUT_BEATS);
  const value = sumOf(latest, pick) / (sumOf(latest, (beat) => beat.span_s) || 1);
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

/** From the histograms of the last beats that graded anything: what the slowest and the middle took. */
function latencyTile(beats) {
  const found = beats
    .slice(-30)
    .map((beat) => beat.latency.total)
    .filter(Boolean);
  if (!found.length) return tile("Time to a report", "–", "nothing lately");
  const middle = found.map(([p50]) => p50).sort((a, b) => a - b)[Math.floor(found.length / 2)];
  const slow = Math.max(...found.map(([, p95]) => p95));
  return tile("Time to a report", `≈ ${seconds(middle)}`, `95 % within ${seconds(slow)}`);
}

function cacheTile(beats, { queue }) {
  const saved = sumOf(beats, ({ cache }) => (cache.hit ?? 0) + (cache.joined ?? 0));
  const all = saved + sumOf(beats, ({ cache }) => cache.miss ?? 0);
  const note = queue.up
    ? `${count(queue.cached)} verdicts, ${bytes(queue.cached_bytes)}`
    : "Redis does not answer";
  return tile("From cache", share(saved, all), note);
}
