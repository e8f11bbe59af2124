// The frame: which screen an address means, the way between them, and what is said when one fails.

import { Problem, Silence, forgetKey, hasKey, keepKey } from "./api.js";
import { fill, h, link } from "./dom.js";
import { instantIn } from "./engine_clock.js";
import { clock } from "./format.js";
import { follow, on, tell } from "./live.js";
import { tellTime } from "./parts.js";
import { askStatus, faultsOf, isUnknown, mayWrite, onStatus } from "./status.js";
import { failed } from "./views/failed.js";
import { flows } from "./views/flows.js";
import { herd } from "./views/herd.js";
import { run } from "./views/run.js";
import { schedule } from "./views/schedule.js";
import { editSchedule, newSchedule } from "./views/schedule_form.js";
import { schedules } from "./views/schedules.js";
import { signIn } from "./views/sign_in.js";
import { system } from "./views/system.js";

const SCREENS = [
  ["", "Herd", herd],
  ["schedules", "Schedules", schedules],
  ["failed", "Failed runs", failed],
  ["flows", "Flows", flows],
  ["system", "System", system],
];
const AGAIN_MS = 5_000;
const main = document.querySelector("main");
const silence = h("p", { class: "silent", role: "alert" });
let leaving = new AbortController();
let following = null; // What ends the stream, while somebody is known who may follow it.
let isUnanswered = false; // The engine was not there for the screen that is shown.
let answered = null; // When it answered last, by its own clock.
let isSilent = false; // It has not answered since.

/** The screen of an address, and what it is about: `#/schedules/nightly/edit`, `#/schedules?q=night`. */
function screenOf(hash) {
  const [path] = hash.replace(/^#\/?/, "").split("?", 1);
  const [first = "", ...rest] = decoded(path.split("/"));
  if (first === "schedules" && rest[1] === "edit") return [editSchedule, rest[0], "schedules"];
  if (first === "schedules" && rest.length) return [schedule, rest[0], "schedules"];
  if (first === "new") return [newSchedule, "", "schedules"];
  if (first === "runs" && rest.length) return [run, rest[0], "schedules"];
  const found = SCREENS.find(([name]) => name === first && !rest.length);
  return found ? [found[2], "", found[0]] : [nowhere, "", null];
}

/** The parts of a path; an address that is no text, which somebody cut or mistyped, means no screen. */
function decoded(parts) {
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return [null];
  }
}

function nowhere({ place }) {
  fill(place, h("h1", {}, "There is no such page"), elsewhere());
}

const elsewhere = () =>
  h("p", { class: "lead" }, "Go on with the ", link(["schedules"], "schedules"), ", or a screen beside.");

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  for (const dialog of document.querySelectorAll("dialog")) dialog.close(); // It asks about what was left.
  const [screen, about, section] = screenOf(location.hash);
  markSection(section);
  isUnanswered = false;
  showSilence();
  const place = h("div", { class: "screen" });
  fill(main, silence, place);
  if (isUnknown()) return askForKey(place);
  try {
    await screen({ place, about, signal });
  } catch (error) {
    if (!signal.aborted) explain(place, error);
  }
  if (signal.aborted) return;
  main.dataset.shown = location.hash; // Which screen is there, whole.
  document.title = `${main.querySelector("h1")?.textContent ?? ""} · Offbeat`;
}

function explain(place, error) {
  if (error instanceof Problem && error.status === 401) return askForKey(place);
  isUnanswered = error instanceof Silence;
  showSilence();
  if (error instanceof Problem && error.status === 404) return missing(place);
  return fill(
    place,
    h("h1", {}, isUnanswered ? "No answer" : "This did not work"),
    h("p", { class: "lead" }, error.message),
    h("div", {}, h("button", { onclick: show }, "Try again")),
  );
}

const missing = (place) =>
  fill(
    place,
    h("h1", {}, "Not there"),
    h("p", { class: "lead" }, "A schedule is gone when it is deleted, a run when its history ends."),
    elsewhere(),
  );

function askForKey(place) {
  const isWrong = hasKey();
  forgetKey();
  signIn(place, isWrong, async (key) => {
    keepKey(key);
    await askAgain();
    show();
  });
}

/** Whoever is known follows what happens; whoever is no more is asked for a key. */
function meet({ scope }) {
  if (scope && !following) {
    following = new AbortController();
    follow(following.signal);
  } else if (scope === null && following) {
    following.abort();
    following = null;
    show();
  }
}

function markSection(section) {
  const links = SCREENS.map(([name, title]) => {
    const isHere = name === section && "page";
    return h("a", { href: `#/${name}`, "aria-current": isHere }, title);
  });
  fill(document.querySelector("nav"), links);
}

/** How it stands, and with the answer what time it is there. */
const askAgain = () =>
  askStatus(AbortSignal.timeout(AGAIN_MS)).then(
    () => hear(true),
    (error) => hear(!(error instanceof Silence)),
  );

/** Whether it answered; what an open screen shows is renewed when it does again. */
function hear(isAnswer) {
  const isBack = isAnswer && isSilent;
  if (isAnswer) answered = instantIn(0);
  isSilent = !isAnswer;
  showSilence();
  if (isBack) tell("poll");
}

/** Above what was there before; a screen that opened on silence says it itself. */
function showSilence() {
  const since = answered && ` since ${clock(answered).slice(0, 8)} UTC; what is shown is from then`;
  const text = isSilent && !isUnanswered ? `The engine does not answer${since ?? ""}.` : "";
  if (silence.textContent !== text) fill(silence, text); // What is the same is not read out again.
}

onStatus(meet);
onStatus((found) => {
  const text = found.ready ? "" : `not ready: ${faultsOf(found)}`;
  const place = document.querySelector(".ready");
  if (place.textContent !== text) fill(place, text); // What is the same is not read out again.
});
on("live", (isLive) => {
  const text = isLive ? "live" : "every 5 s: the stream is down";
  fill(document.querySelector(".live"), following && text, !mayWrite() && ", read only");
});
addEventListener("hashchange", () => show().then(() => main.focus()));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // The address names the screen, not a place in it.
  main.focus();
});
setInterval(() => {
  askAgain();
  if (isUnanswered) show();
  else tellTime();
}, AGAIN_MS);
askAgain().then(show);
