/**
 * The service's events, over `fetch`: an EventSource cannot send a token.
 *
 * Every connection begins with a snapshot of everything, so missed events need not be sent again.
 */

import { request, SignInNeeded } from "./session.js";

const SILENCE_MS = 10_000; // The service tells something every two seconds.
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

/**
 * Follow the events until `signal` aborts, and reconnect as often as needed.
 *
 * @param {(name: string, data: object) => void} tell Called with every event.
 * @param {(state: "connecting" | "live" | "lost") => void} linked Called if the state changes.
 * @returns Resolves when `signal` aborts; rejects with `SignInNeeded`.
 */
export async function follow(tell, linked, signal) {
  let wait = FIRST_WAIT_MS;
  while (!signal.aborted) {
    const connection = new AbortController();
    const stop = () => connection.abort();
    signal.addEventListener("abort", stop);
    try {
      const response = await request("live/events", { signal: connection.signal });
      for await (const [name, data] of read(response.body, connection)) {
        wait = FIRST_WAIT_MS;
        if (name === "end" || signal.aborted) break;
        linked("live");
        tell(name, data);
      }
    } catch (error) {
      if (error instanceof SignInNeeded) throw error;
    } finally {
      signal.removeEventListener("abort", stop);
      connection.abort();
    }
    if (signal.aborted) return;
    linked("lost");
    await sleep(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(2 * wait, LONGEST_WAIT_MS);
  }
}

async function* read(body, connection) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (true) {
    const silence = setTimeout(() => connection.abort(), SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      yield parsed(text.slice(0, end));
      text = text.slice(end + 2);
    }
  }
}

function parsed(block) {
  const fields = Object.fromEntries(
    block.split("\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    }),
  );
  return [fields.event, JSON.parse(fields.data)];
}

function sleep(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
