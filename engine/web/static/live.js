// What happens in the engine, as it happens: `v1/events`, read with fetch because an EventSource
// cannot send a key. When the stream drops the page says so, asks every few seconds instead, and
// tries to come back.

import { authorization } from "./api.js";

const QUIET_SECONDS = 40; // The engine writes at least every 15.
const POLL_MS = 5_000;
const BACK_MS_MAX = 15_000;
const REFRESH_MS = 1_000; // Between two refreshes at least, however much happens.

const bus = new EventTarget();
let lastId = "";

/** Call `heard(document)` at each event of this name until the signal aborts. */
export function on(name, heard, signal) {
  bus.addEventListener(name, (event) => heard(event.detail), { signal });
}

/** Call `refresh` when runs change, at most once a second; every five while the stream is down. */
export function refreshing(refresh, signal, concerns = () => true) {
  let timer = 0;
  const later = () => (timer ||= setTimeout(() => ((timer = 0), refresh()), REFRESH_MS));
  on("run", (run) => concerns(run) && later(), signal);
  on("reset", later, signal);
  on("dropped", later, signal);
  on("poll", later, signal);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

/** Follow the stream until the signal aborts. */
export async function follow(signal) {
  const poll = setInterval(() => document.body.dataset.live === "no" && tell("poll"), POLL_MS);
  signal.addEventListener("abort", () => clearInterval(poll));
  for (let wait = 1_000; !signal.aborted; wait = Math.min(wait * 2, BACK_MS_MAX)) {
    const heard = await readStream(signal);
    setLive(false);
    if (heard) wait = 1_000;
    await new Promise((done) => setTimeout(done, wait));
  }
}

/** Whether anything was heard before it ended. */
async function readStream(signal) {
  const silence = new AbortController();
  let watch = 0;
  let isHeard = false;
  const listen = () => {
    clearTimeout(watch);
    watch = setTimeout(() => silence.abort(), QUIET_SECONDS * 1_000);
  };
  const headers = { ...authorization(), ...(lastId && { "Last-Event-ID": lastId }) };
  const options = { headers, signal: AbortSignal.any([signal, silence.signal]) };
  try {
    listen();
    const response = await fetch("v1/events", options);
    isHeard = response.ok;
    setLive(isHeard);
    let rest = "";
    for await (const text of isHeard ? texts(response.body) : []) {
      listen();
      const blocks = (rest + text).split("\n\n");
      rest = blocks.pop();
      blocks.forEach(readBlock);
    }
  } catch {
    // It dropped: what was heard stands, and we come back.
  }
  clearTimeout(watch);
  return isHeard;
}

async function* texts(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
}

function readBlock(block) {
  const fields = new Map(block.split("\n").map((line) => [line.split(": ", 1)[0], line]));
  const field = (name) => fields.get(name)?.slice(name.length + 2);
  lastId = field("id") ?? lastId;
  if (field("event")) tell(field("event"), JSON.parse(field("data")));
}

function setLive(isLive) {
  document.body.dataset.live = isLive ? "yes" : "no";
  tell("live", isLive);
}

/** Let all who listen for `name` hear. */
export const tell = (name, detail) => bus.dispatchEvent(new CustomEvent(name, { detail }));
