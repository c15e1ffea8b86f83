/**
 * The token, and requests that send it.
 *
 * The token is kept for this tab only. A cookie would be unsafe: a browser adds cookies to every
 * request to this host, also to requests that other sites make.
 */

const KEY = "grader-token";

/** The token is missing or wrong. */
export class SignInNeeded extends Error {}

/** The service refused a request, with a reason. */
export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

let session = new AbortController();

export const hasToken = () => sessionStorage.getItem(KEY) !== null;
export const signIn = (token) => sessionStorage.setItem(KEY, token);

/** Forget the token, and abort all open requests. */
export function signOut() {
  sessionStorage.removeItem(KEY);
  session.abort();
  session = new AbortController();
}

/** Fetch something of the service, by a path below that of the page; throws `SignInNeeded`, `Refused`, or what fetch throws. */
export async function request(path, { headers = {}, signal, ...options } = {}) {
  const token = sessionStorage.getItem(KEY);
  const response = await fetch(path, {
    ...options,
    signal: signal ? AbortSignal.any([signal, session.signal]) : session.signal,
    headers: token === null ? headers : { ...headers, Authorization: `Bearer ${encoded(token)}` },
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  if (response.status === 401) throw new SignInNeeded();
  if (!response.ok) throw new Refused(response.status, await wordsOf(response));
  return response;
}

/** A header holds bytes; those of the token are its UTF-8. */
function encoded(token) {
  return String.fromCharCode(...new TextEncoder().encode(token));
}

async function wordsOf(response) {
  try {
    return (await response.json()).detail ?? response.statusText;
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}
