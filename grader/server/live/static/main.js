/** The page: chooses the view, and applies the service's events to it. */

import { clearCharts, listenToCharts, showCharts } from "./charts.js";
import { byId } from "./dom.js";
import { follow } from "./events.js";
import { showNoConnection, showOverview } from "./overview.js";
import {
  clearPlayground,
  listenToPlayground,
  preparePlayground,
  showReport,
} from "./playground.js";
import * as samples from "./samples.js";
import { hasToken, signIn, SignInNeeded, signOut } from "./session.js";
import { showWorkers } from "./workers.js";

const INTERVALS = 150; // Five minutes; longer spans are the charts' business, which the service draws.
const VIEWS = ["overview", "samples", "sample", "playground"];

let model = null;
let following = null;

// ---------------------------------------------------------------- events

function told(name, data) {
  const { interval, intervals, samples: fresh, ...rest } = data;
  if (name === "snapshot") {
    if (model !== null && model.boot !== data.boot) samples.forgetSamples();
    model = { ...rest, intervals };
  } else if (name === "interval") {
    model = { ...model, ...rest, intervals: [...model.intervals, interval].slice(-INTERVALS) };
  }
  samples.addSamples(fresh);
  show();
}

function show() {
  const [view] = place();
  samples.showKeeping(model.keep, model.kept);
  byId("keeping").hidden = false;
  showOverview(model);
  if (byId("link").dataset.state === "lost") showNoConnection(model.now);
  if (view === "overview") {
    showWorkers(model);
    samples.showLately(model.keep);
    guarded(showCharts);
  } else if (view === "samples") {
    samples.showList();
  } else if (view === "sample") {
    samples.showNeighbours();
  }
}

const LINKS = { connecting: "connecting …", live: "live", lost: "no connection; trying again …" };

function linked(state) {
  const shown = byId("link");
  if (shown.dataset.state === state) return;
  shown.dataset.state = state;
  shown.textContent = LINKS[state];
  if (state === "lost" && model !== null) showNoConnection(model.now);
}

// ---------------------------------------------------------------- views

/** Return the view that the address names, its argument (a kind, or a key), and what is searched. */
function place() {
  const [, view = "", detail = "", words = ""] = location.hash.split("/");
  return VIEWS.includes(view) ? [view, detail, words] : ["overview", "", ""];
}

function go() {
  if (following === null) return;
  const [view, detail, words] = place();
  for (const each of VIEWS) byId(each).hidden = each !== view;
  const tab = view === "sample" ? "#/samples" : view === "overview" ? "#/" : `#/${view}`;
  for (const link of byId("tabs").children) {
    if (link.getAttribute("href") === tab) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  showReport(view === "playground");
  if (view !== "sample") byId("sample-body").replaceChildren();
  if (view === "samples") guarded(() => samples.chooseList(detail, words));
  if (view === "sample") guarded(() => samples.openSample(detail));
  if (view === "playground") guarded(preparePlayground);
  if (model !== null) show();
  window.scrollTo(0, 0);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const [view] = place();
  if (event.key === "Escape") {
    event.target.blur();
    if (view === "sample") location.hash = byId("back").hash;
    else if (view === "samples") location.hash = "#/samples";
    return;
  }
  if (event.target.closest("input, textarea, select")) return;
  if (event.key === "?") byId("help").showModal();
  else if (view === "sample" && "nj".includes(event.key)) byId("next").click();
  else if (view === "sample" && "pk".includes(event.key)) byId("previous").click();
  else if (view === "samples" && "jk".includes(event.key)) samples.moveTo(event.key === "j" ? 1 : -1);
  else if (view === "samples" && event.key === "/") {
    event.preventDefault();
    byId("search").focus();
  }
}

const THEME = "grader-theme";

function changeTheme() {
  const root = document.documentElement;
  const isDark = getComputedStyle(root).getPropertyValue("--is-dark").trim() === "1";
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem(THEME, root.dataset.theme);
}

// ---------------------------------------------------------------- signing in and out

function begin() {
  byId("sign-in").hidden = true;
  byId("tabs").hidden = false;
  byId("sign-out").hidden = !hasToken();
  following = new AbortController();
  linked("connecting");
  guarded(() => follow(told, linked, following.signal));
  go();
}

function end(why = "") {
  following?.abort();
  following = model = null;
  samples.forgetSamples();
  clearPlayground();
  clearCharts();
  for (const id of ["tiles", "workers", "workers-table", "health", "health-said"])
    byId(id).replaceChildren();
  for (const each of [...VIEWS, "tabs", "sign-out", "keeping"]) byId(each).hidden = true;
  delete byId("link").dataset.state;
  byId("link").textContent = "";
  byId("sign-in").hidden = false;
  byId("sign-in-refusal").textContent = why;
  byId("token").focus();
}

/** Do something that needs the service; ask for the token if it is missing. */
async function guarded(action) {
  try {
    await action();
  } catch (error) {
    if (error instanceof SignInNeeded) {
      if (following === null) return;
      const why = hasToken() ? "The service does not take this token." : "";
      signOut();
      end(why);
    } else if (error.name !== "AbortError" && !(error instanceof TypeError)) {
      throw error; // What fetch throws without a connection, the link tells of.
    }
  }
}

byId("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  signIn(byId("token").value);
  byId("token").value = "";
  begin();
});
byId("sign-out").addEventListener("click", () => {
  signOut();
  end();
});
byId("search").addEventListener("input", samples.searchList);
byId("theme").addEventListener("click", changeTheme);
if (localStorage.getItem(THEME)) document.documentElement.dataset.theme = localStorage.getItem(THEME);
byId("help-open").addEventListener("click", () => byId("help").showModal());
byId("help-close").addEventListener("click", () => byId("help").close());
window.addEventListener("hashchange", go);
window.addEventListener("keydown", pressed);
listenToCharts(guarded);
listenToPlayground(guarded);

if (byId("sign-in").dataset.needed === "yes" && !hasToken()) end();
else begin();
