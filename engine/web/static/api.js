// Requests to the engine. Addresses are relative, so that a mounted engine's page asks that engine.
//
// An engine with keys needs one. It is kept in sessionStorage alone: it ends with the tab, no other
// tab reads it, and unlike a cookie it goes out only where this code sends it, so no other site can
// make the browser use it.

import { fetchTimed } from "./engine_clock.js";
import { memberOf } from "./json_text.js";

const KEY = "offbeat-key";
const SECONDS_MAX = 30;

/** What the engine answered instead: an RFC 9457 problem. `faults` are {pointer, detail}. */
export class Problem extends Error {
  constructor(status, document) {
    const faults = document.errors ?? [];
    // Of a question's parameter it is told here; of a document's member a form tells at its field.
    const words = ({ parameter, detail }) => (parameter ? `${parameter}: ${detail}` : detail);
    const told = faults.map(words).join("; ");
    super(told || (document.detail ?? `the engine answered ${status}`));
    this.status = status;
    this.code = document.code ?? "";
    this.faults = faults;
  }
}

export const hasKey = () => sessionStorage.getItem(KEY) !== null;
export const keepKey = (key) => sessionStorage.setItem(KEY, key);
export const forgetKey = () => sessionStorage.removeItem(KEY);

/** The header that says who asks; none on an engine without keys. */
export function authorization() {
  const key = sessionStorage.getItem(KEY);
  return key === null ? {} : { Authorization: `Bearer ${key}` };
}

export const get = (path, query, options) => ask("GET", path + search(query), undefined, options);
export const post = (path, body = {}, options) => ask("POST", path, body, options);
export const put = (path, body, options) => ask("PUT", path, body, options);
export const remove = (path, options) => ask("DELETE", path, undefined, options);

/** The path of a resource whose name can hold anything: resource("v1/runs", id, ":replay"). */
export const resource = (list, name, rest = "") => `${list}/${encodeURIComponent(name)}${rest}`;

/** A schedule or a run, and the text of its JSON body as it is stored; null without one. */
export async function getWithBody(path, options) {
  const text = await ask("GET", path, undefined, { ...options, isText: true });
  return [JSON.parse(text), memberOf(text, "target", "json")];
}

/** `body`: an object, or the text of one; `isText`: the answer is not read. */
async function ask(method, path, body, options = {}) {
  const { signal, headers = {}, isText = false } = options;
  const deadline = AbortSignal.timeout(SECONDS_MAX * 1_000);
  const response = await fetched(path, {
    method,
    headers: {
      ...(body && { "Content-Type": "application/json" }),
      ...authorization(),
      ...headers,
    },
    body: typeof body === "object" ? JSON.stringify(body) : body,
    cache: "no-store",
    signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("Content-Type"));
  const document = isJson && text && !(isText && response.ok) ? JSON.parse(text) : text;
  if (!response.ok) throw new Problem(response.status, document || {});
  return document;
}

/** fetch, whose own words for an engine that is gone are "Failed to fetch". */
async function fetched(path, options) {
  try {
    return await fetchTimed(path, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new Silence(options.method === "GET");
  }
}

/** No answer at all: the engine is stopped, restarting or cut off. */
export class Silence extends Error {
  constructor(isQuestion) {
    super(
      isQuestion
        ? "The engine does not answer: it is stopped, or starting. This page asks again by itself."
        : "The engine does not answer. Before you do this again, look whether it was done.",
    );
  }
}

function search(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
