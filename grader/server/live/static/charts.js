/** Charts over time, drawn by the service. */

import { byId, putFragment } from "./dom.js";
import { request } from "./session.js";

const EVERY_MS = 10_000;

let span = "minutes";
let last = -Infinity;

/** Fetch the charts, unless they were fetched a moment ago. */
export async function showCharts({ anew = false } = {}) {
  const now = performance.now();
  if (!anew && now - last < EVERY_MS) return;
  last = now;
  const asked = span;
  const html = await (await request(`live/charts?span=${asked}`)).text();
  if (asked === span) putFragment(byId("charts"), html);
}

/** Forget what was drawn. */
export function clearCharts() {
  last = -Infinity;
  byId("charts").replaceChildren();
}

/** Handle the choice of a time span; `guarded` handles errors. */
export function listenToCharts(guarded) {
  byId("span").addEventListener("click", ({ target }) => {
    if (!target.value) return;
    span = target.value;
    for (const button of byId("span").children) {
      button.setAttribute("aria-pressed", String(button.value === span));
    }
    guarded(() => showCharts({ anew: true }));
  });
}
