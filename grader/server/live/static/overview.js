/** The first view: whether all is well, in figures, in words, and by workers. */

import { bytes, byId, clock, count, el, seconds, share, span } from "./dom.js";

const THROUGHPUT_BEATS = 5;

/** Show a whole state of the page: `model` is what the snapshot brought, kept up by beats. */
export function showOverview(model) {
  showHealth(model);
  byId("tiles").replaceChildren(...tiles(model));
  byId("workers").replaceChildren(...workers(model));
}

function showHealth({ concerns, state, started, now }) {
  document.title = `${concerns.length ? `(${concerns.length}) ` : ""}Live · grader`;
  putHealth(
    concerns.length
      ? concerns.map(({ level, text }) => concern(level, GRAVITY[level], text))
      : [concern("well", "All is well.", inWords(state, now - started))],
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
  const shown = byId("health");
  // A screen reader is told of what changed, not of every beat.
  if (shown.textContent !== parts.map((part) => part.textContent).join("")) {
    shown.replaceChildren(...parts);
  }
}

function inWords(state, up) {
  if (state === null) return "Starting.";
  const load = state.waiting
    ? "Some submissions wait for their turn."
    : state.busy
      ? "Slots are busy and nothing waits."
      : "Nothing to do.";
  return `${load} Up ${span(Math.max(60, up))}.`;
}

function tiles({ beats, state, totals }) {
  const sum = (pick) => beats.reduce((total, beat) => total + pick(beat), 0);
  const graded = (beat) => Object.values(beat.verdicts).reduce((total, n) => total + n, 0);
  const latest = beats.slice(-THROUGHPUT_BEATS);
  const spanOf = (some) => some.reduce((total, beat) => total + beat.span_s, 0);
  const perSecond = latest.reduce((total, beat) => total + graded(beat), 0) / (spanOf(latest) || 1);
  const recently = sum(graded);
  const over = span(Math.max(2, spanOf(beats)));
  const all = Object.values(totals.verdicts).reduce((total, n) => total + n, 0);
  const suspicious = sum((beat) => beat.suspicious);
  const faults = sum((beat) => beat.internal_errors);
  const found = [
    tile("Graded", `${rate(perSecond)} / s`, `${count(all)} since the start`),
    tile(
      "Passed",
      share(
        sum((beat) => beat.verdicts.passed ?? 0),
        recently,
      ),
      `of ${count(recently)} in ${over}`,
    ),
    waitingTile(state),
    slotsTile(state),
    latencyTile(beats),
  ];
  if (state?.queue) found.push(cacheTile(beats, state));
  if (totals.programs) {
    const run = latest.reduce((total, beat) => total + beat.programs, 0) / (spanOf(latest) || 1);
    found.push(tile("Programs run", `${rate(run)} / s`, `${count(totals.programs)} of /run_code`));
  }
  found.push(
    tile(
      "Suspicious",
      count(suspicious),
      suspicious ? `${share(suspicious, recently)} in ${over}` : `in ${over}`,
      suspicious ? "warn" : "",
    ),
    tile("Our faults", count(faults), `in ${over}`, faults ? "bad" : ""),
  );
  return found;
}

function tile(name, value, note, kind = "", meter = null) {
  return el(
    "div.card",
    { "data-kind": kind || null },
    el("dt", {}, name),
    el("dd.big", {}, value),
    el("dd.nothing", {}, meter, note),
  );
}

const rate = (value) =>
  value >= 99.5 ? count(Math.round(value)) : value >= 9.95 ? value.toFixed(0) : value.toFixed(1);

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
  return tile("Busy slots", `${count(busy)} of ${count(usable)}`, "", "", meter);
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
  const sum = (outcome) => beats.reduce((total, beat) => total + (beat.cache[outcome] ?? 0), 0);
  const saved = sum("hit") + sum("joined");
  const all = saved + sum("miss");
  const note = queue.up
    ? `${count(queue.cached)} verdicts, ${bytes(queue.cached_bytes)}`
    : "Redis does not answer";
  return tile("From cache", share(saved, all), note);
}

function workers({ state, now }) {
  if (state === null) return [];
  const parts = [];
  const { queue, slots } = state;
  if (queue?.up) parts.push(...queueParts(queue, now));
  else if (queue) parts.push(el("p", {}, "Redis does not answer, so nothing is known of workers."));
  const gone = queue?.gone ?? [];
  if (gone.length)
    parts.push(
      el("h3", {}, "Gone"),
      el("ul.plain", {}, ...gone.map((each) => goneLine(each, now))),
    );
  if (slots) parts.push(el("p", {}, slotsInWords(slots, queue !== null)));
  else if (queue) parts.push(el("p.nothing", {}, "This process has opened no slots of its own."));
  if (queue?.errors?.length) {
    parts.push(el("h3", {}, "Internal errors, all clients"));
    parts.push(
      el(
        "ul.plain",
        {},
        ...queue.errors.map((each) => el("li", {}, el("time", {}, clock(each.at)), " ", each.text)),
      ),
    );
  }
  return parts;
}

function queueParts(queue, now) {
  if (!queue.workers.length) return [el("p", {}, "No worker serves.")];
  const names = ["Worker", "State", "Busy", "Per second", "Graded", "Sandbox", "Images", "Up"];
  const rows = queue.workers.map((worker) =>
    el(
      "tr",
      {},
      el("td.name", {}, worker.host, " ", el("small", {}, worker.id)),
      el("td", {}, worker.state),
      el("td.num", {}, `${worker.running} of ${worker.slots}`),
      el("td.num", {}, worker.per_s.toFixed(1)),
      el("td.num", {}, count(worker.graded)),
      el("td", {}, worker.sandbox),
      el("td", {}, worker.images),
      el("td.num", {}, span(Math.max(0, now - worker.started))),
    ),
  );
  const numbers = new Set(["Busy", "Per second", "Graded", "Up"]);
  const heads = names.map((name) =>
    el(numbers.has(name) ? "th.num" : "th", { scope: "col" }, name),
  );
  const head = el("thead", {}, el("tr", {}, ...heads));
  return [
    el(
      "div.scroll",
      { tabindex: 0, role: "region", "aria-label": "Workers" },
      el("table", {}, head, el("tbody", {}, ...rows)),
    ),
    el("p.nothing", {}, `Clients of the queue: ${count(queue.clients)}.`),
  ];
}

function goneLine({ worker, at, lost }, now) {
  const how = lost ? `lost, with ${worker.running} running` : "left in order";
  return el(
    `li${lost ? ".lost" : ""}`,
    {},
    el("b", {}, worker.host),
    ` ${how}, ${span(now - at)} ago `,
    el("small", {}, worker.id),
  );
}

function slotsInWords({ busy, idle, unopened }, isBesideQueue) {
  const what = isBesideQueue ? "Slots of this process, for /run_code" : "Slots of this process";
  return `${what}: ${busy} busy, ${idle} idle and warm, ${unopened} not opened yet.`;
}
