/** The playground: the service grades an example or a paste, and shows it like any sample. */

import { byId, el, putFragment } from "./dom.js";
import { request } from "./session.js";

const KEY = "grader-playground";
const FIELDS = ["try-format", "try-completion", "try-label"];

let examples = null;
let report = "";

/** Fill in the examples, once. */
export async function preparePlayground() {
  if (examples !== null) return;
  examples = await (await request("live/examples")).json();
  byId("try-format").replaceChildren(
    ...examples.map(({ name }) => el("option", { value: name }, name)),
  );
  choose();
  const typed = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  for (const id of FIELDS) byId(id).value = typed[id] ?? byId(id).value;
}

/** Keep what the fields hold for a reload of the page. */
function keepTyped() {
  const typed = Object.fromEntries(FIELDS.map((id) => [id, byId(id).value]));
  try {
    sessionStorage.setItem(KEY, JSON.stringify(typed));
  } catch {
    sessionStorage.removeItem(KEY); // It is too long for the browser.
  }
}

/** Insert the example of the chosen format. */
function choose() {
  const example = examples.find(({ name }) => name === byId("try-format").value);
  byId("try-format-told").textContent = `${example.summary}.`;
  byId("try-completion").value = example.completion;
  byId("try-label").value = example.label;
}

async function grade() {
  const told = byId("try-told");
  const run = byId("try-run");
  run.disabled = true;
  told.textContent = "Grading …";
  try {
    const response = await request("live/try", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        completion: byId("try-completion").value,
        label: byId("try-label").value,
      }),
    });
    report = await response.text();
    showReport(true);
    told.textContent = "Graded: the report is below.";
    byId("try-report").querySelector("h2")?.focus();
  } catch (error) {
    if (!error.status) throw error;
    report = "";
    showReport(true);
    told.textContent = `Not graded: ${error.message}`;
  } finally {
    run.disabled = false;
  }
}

/** Put the last report into the page, or take it out: one sample at a time has its ids. */
export function showReport(isShown) {
  putFragment(byId("try-report"), isShown ? report : "");
}

/** Clear the input and its report. */
export function clearPlayground() {
  examples = null;
  report = "";
  sessionStorage.removeItem(KEY);
  for (const id of ["try-completion", "try-label"]) byId(id).value = "";
  for (const id of ["try-format", "try-report"]) byId(id).replaceChildren();
}

/** Handle the form; `guarded` handles errors. */
export function listenToPlayground(guarded) {
  byId("try-format").addEventListener("change", choose);
  for (const event of ["input", "change"]) byId("try").addEventListener(event, keepTyped);
  byId("try").addEventListener("submit", (event) => {
    event.preventDefault();
    guarded(grade);
  });
  byId("try").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !byId("try-run").disabled) {
      byId("try").requestSubmit();
    }
  });
}
