// One run: where its time went, what was sent and answered, and how to send it again.

import { getWithBody, post, resource } from "../api.js";
import { fill, h, link } from "../dom.js";
import { clock, duration, instant, offset } from "../format.js";
import { refreshing } from "../live.js";
import { badge, button, facts, figures, panel, scheduleLink, title } from "../parts.js";
import { mayWrite } from "../status.js";
import { requestOf } from "./request.js";

// The parts in the order in which a run meets them, and whose they are: planned, ours, or the target's.
const PARTS = [
  ["jitter", "jitter", "planned"],
  ["planning", "planning", "ours"],
  ["held", "held back", "ours"],
  ["queue", "queue", "ours"],
  ["bucket", "token bucket", "ours"],
  ["flow", "flow's limits", "ours"],
  ["journal", "journal", "ours"],
  ["retry", "failed attempts, waits", "theirs"],
  ["connect", "connecting", "theirs"],
  ["first_byte", "first byte", "theirs"],
  ["body", "body", "theirs"],
];
const ENDED = new Set(["succeeded", "failed"]);
const OPEN = new Set(["planned", "retry_wait", "attempting"]);

export async function run({ place, about: id, signal }) {
  const [body, said] = [h("div", { class: "screen" }), h("div", { role: "status" })];
  const refresh = async () => {
    const [found, json] = await getWithBody(resource("v1/runs", id), { signal });
    fill(body, headOf(found, said, refresh), said, numbers(found), whyOf(found));
    body.append(h("div", { class: "columns" }, attemptsOf(found), requestOf(found, json, said)));
  };
  fill(place, body);
  await refresh();
  refreshing(
    () => refresh().catch(() => {}),
    signal,
    (event) => event.id === id,
  );
}

function headOf(found, said, refresh) {
  const act = (text, action, done) =>
    button(
      text,
      async () => {
        await post(resource("v1/runs", found.id, action));
        await refresh();
        fill(said, done);
      },
      said,
    );
  return h(
    "div",
    { class: "stack" },
    title(
      `Run of ${instant(found.scheduled_for)} UTC`,
      mayWrite() &&
        ENDED.has(found.state) &&
        act("Replay", ":replay", "It is sent again: same key, same bytes, attempts numbered on."),
      mayWrite() &&
        OPEN.has(found.state) &&
        act("Cancel", ":cancel", "Cancelled; an attempt under way is not broken off."),
    ),
    h(
      "p",
      { class: "row" },
      badge(found.state),
      found.reason && h("span", { class: "quiet" }, reasonWords(found.reason)),
      "of",
      scheduleLink(found.schedule_name),
      h("span", { class: "quiet" }, TRIGGERS[found.trigger]),
    ),
  );
}

const TRIGGERS = {
  schedule: "",
  manual: "triggered by hand",
  backfill: "by a backfill",
  catch_up: "caught up on after a stop",
  notice: "tells of a failure",
};
const REASONS = {
  attempts: "all attempts used up",
  age: "retried for as long as allowed",
  expired: "its deadline passed",
  final: "the target's answer was final",
  overlap: "the one before was still active",
  superseded: "a newer one took its place",
  paused: "its schedule was paused",
  catch_up: "missed while the engine was down; a newer one ran",
};
export const reasonWords = (reason) => REASONS[reason] ?? reason;

function numbers(found) {
  const late = found.first_attempt_at && offset(found.fire_after, found.first_attempt_at);
  return figures([
    [clock(found.scheduled_for), null, "scheduled_for (UTC)"],
    [offset(found.scheduled_for, found.fire_after), null, "fire_after: jitter"],
    [late ?? "–", null, "first attempt, after that"],
    [String(found.attempt_count), null, "attempts"],
    found.next_attempt_at
      ? [second(found.next_attempt_at), null, "next attempt (UTC)"]
      : [found.ended_at ? second(found.ended_at) : "–", null, "ended (UTC)"],
  ]);
}

const second = (text) => clock(text).slice(0, 8);

function whyOf(found) {
  const { attribution } = found;
  if (!attribution) return null;
  const total = Math.max(1, attribution.total_ms);
  let before = 0;
  const lines = PARTS.map(([name, text, whose]) => {
    const ms = attribution[`${name}_ms`];
    const style = { left: `${(100 * before) / total}%`, width: `${(100 * ms) / total}%` };
    before += ms;
    const part = ms > 0 && h("div", { class: `part ${whose}`, style });
    return [
      h("dt", {}, text),
      h("dd", { class: "track", "aria-hidden": "true" }, part),
      h("dd", { class: "number" }, ms ? duration(ms) : h("span", { class: "quiet" }, "0")),
    ];
  });
  return panel(
    `Where ${duration(attribution.total_ms)} went`,
    h(
      "p",
      { class: "legend" },
      [
        ["planned", "--accent"],
        ["the engine", "--demand"],
        ["the target", "--served"],
      ].map(([text, mark]) => h("span", { style: { "--mark": `var(${mark})` } }, text)),
    ),
    h("dl", { class: "fall" }, lines, attemptLines(found, total)),
  );
}

/** The attempts on the same scale: what lies between them is waiting. */
function attemptLines({ scheduled_for: due, attempts }, total) {
  const share = (ms) => `${Math.min(100, Math.max(0, (100 * ms) / total))}%`;
  const ended = attempts.filter((attempt) => attempt.ended_at);
  return ended.map((attempt) => {
    const from = Date.parse(attempt.started_at) - Date.parse(due);
    const took = Date.parse(attempt.ended_at) - Date.parse(attempt.started_at);
    const style = { left: share(from), width: share(took) };
    const kind = attempt.outcome === "success" ? "good" : "bad";
    return [
      h("dt", {}, `attempt ${attempt.number}`),
      h("dd", { class: "track", "aria-hidden": "true" }, h("div", { class: `part ${kind}`, style })),
      h("dd", { class: "number" }, duration(took)),
    ];
  });
}

function attemptsOf({ attempts }) {
  if (!attempts.length)
    return panel(
      "Attempts",
      h("p", { class: "quiet" }, "None yet. Each is one request, kept here with its answer."),
    );
  return panel("Attempts", h("div", { class: "stack" }, attempts.map(attemptOf)));
}

function attemptOf(attempt, place, all) {
  const took =
    attempt.ended_at && duration(Date.parse(attempt.ended_at) - Date.parse(attempt.started_at));
  const words = attempt.outcome ? outcomeWords(attempt) : "under way";
  const answer = attempt.response ?? attempt.response_base64;
  return h(
    "details",
    { open: place === all.length - 1 },
    h(
      "summary",
      {},
      `${attempt.number}. `,
      badge(
        attempt.outcome === "success" ? "succeeded" : attempt.outcome ? "failed" : "planned",
        words,
      ),
    ),
    facts([
      ["Started", `${instant(attempt.started_at)} UTC`],
      ["Took", took],
      ["Error", attempt.error],
      ["Response", answer ? h("pre", { tabindex: "0" }, answer) : "empty"],
      ["", attempt.response_base64 ? "not text: shown in base64" : null],
      ["", attempt.response_cut ? "cut at 4 KiB" : null],
    ]),
  );
}

/** "503", "timeout" */
export const outcomeWords = ({ outcome, status }) =>
  status ? `HTTP ${status}` : outcome.replace("_", " ");
