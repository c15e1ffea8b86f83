/** Workers of the queue, workers that are gone, and the slots of the service itself. */

import { byId, clock, count, el, span, table } from "./dom.js";

const COLUMNS = {
  Worker: "",
  State: "",
  Build: "",
  Busy: "num",
  "Per second": "num",
  Graded: "num",
  Sandbox: "",
  Images: "",
  Up: "num",
};

/** Show the state of workers and slots; `now` in seconds since 1970. */
export function showWorkers({ state, now }) {
  const workers = state?.queue?.workers ?? [];
  byId("workers-table").hidden = !workers.length;
  byId("workers-table").replaceChildren(
    table(
      COLUMNS,
      workers.map((worker) => row(worker, now)),
    ),
  );
  byId("workers").replaceChildren(...(state === null ? [] : remarks(state, now)));
}

function row(worker, now) {
  return [
    [worker.host, el("small", {}, ` ${worker.id}`)],
    worker.state,
    worker.build,
    `${worker.running} of ${worker.slots}`,
    worker.per_s.toFixed(1),
    count(worker.graded),
    worker.sandbox,
    worker.images,
    span(Math.max(0, now - worker.started)),
  ];
}

function remarks({ queue, slots }, now) {
  const found = [];
  if (queue && !queue.up) {
    found.push(el("p", {}, "Redis does not answer, so nothing is known of workers."));
  } else if (queue) {
    if (!queue.workers.length) found.push(el("p", {}, "No worker serves."));
    found.push(el("p.nothing", {}, `Clients of the queue: ${count(queue.clients)}.`));
  }
  found.push(...list("Waiting, by client and class", (queue?.lanes ?? []).map(laneLine)));
  found.push(
    ...list(
      "Gone",
      (queue?.gone ?? []).map((each) => goneLine(each, now)),
    ),
  );
  if (slots) found.push(el("p", {}, slotsInWords(slots, queue !== null)));
  else if (queue) found.push(el("p.nothing", {}, "This process has opened no slots of its own."));
  found.push(...list("Internal errors, of all clients", (queue?.errors ?? []).map(errorLine)));
  return found;
}

const list = (title, items) =>
  items.length ? [el("h3", {}, title), el("ul.plain", {}, ...items)] : [];

function laneLine(lane) {
  const runs = lane.run_s === null ? "" : `, runs take ${lane.run_s.toFixed(2)} s`;
  return el(
    "li",
    {},
    el("b", {}, count(lane.waiting)),
    ` ${lane.class} for ${lane.image}, weight ${lane.weight}${runs} `,
    el("small", {}, lane.client),
  );
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

const errorLine = ({ at, text }) => el("li", {}, el("time", {}, clock(at)), ` ${text}`);

function slotsInWords({ busy, idle, unopened }, isBesideQueue) {
  const what = isBesideQueue ? "Slots of this process, for /run_code" : "Slots of this process";
  return `${what}: ${busy} busy, ${idle} idle and warm, ${unopened} not opened yet.`;
}
