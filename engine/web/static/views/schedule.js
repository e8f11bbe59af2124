// One schedule: when it fires and why then, how it went, and what can be done with it.

import { get, getWithBody, post, remove, resource } from "../api.js";
import { fill, h, link, pathTo } from "../dom.js";
import { clock, counted, duration, instant, relative } from "../format.js";
import { indented } from "../json_text.js";
import { refreshing } from "../live.js";
import {
  LABELLED,
  badge,
  button,
  confirmed,
  empty,
  facts,
  labelText,
  pager,
  panel,
  table,
  title,
  tone,
  when,
} from "../parts.js";
import { mayWrite } from "../status.js";
import { triggerText, triggerWords } from "../trigger.js";
import { nextOf } from "./occurrences.js";

const SHOWN_NEXT = 10;
const SHOWN_RUNS = 25;

export async function schedule({ place, about: name, signal }) {
  const [head, nextPart, runsPart, factsPart, said] = [
    h("div", { class: "stack" }),
    h("div"),
    h("div"),
    h("div"),
    h("div", { role: "status" }),
  ];
  let cursor = null;
  const refresh = async () => {
    const at = (rest) => resource("v1/schedules", name, rest);
    const [found, json] = await getWithBody(at(""), { signal }); // Of none nothing more is asked.
    const [occurrences, runs] = await Promise.all([
      get(at("/occurrences"), { limit: SHOWN_NEXT }, { signal }),
      get(at("/runs"), { limit: SHOWN_RUNS, cursor }, { signal }),
    ]);
    fill(head, headOf(found, said, refresh));
    fill(factsPart, factsOf(found, json));
    fill(nextPart, nextOf(found, occurrences.data));
    fill(
      runsPart,
      runsOf(runs, cursor, (to) => ((cursor = to), refresh())),
    );
    return found;
  };
  fill(place, head, said, nextPart, runsPart, factsPart);
  const { id } = await refresh();
  refreshing(
    () => refresh().catch(() => {}),
    signal,
    (run) => run.schedule_id === id,
  );
}

function headOf(found, said, refresh) {
  const at = (action) => resource("v1/schedules", found.name, action);
  const act = (text, action, done) =>
    button(
      text,
      async () => {
        const answer = await post(at(action));
        await refresh();
        fill(said, done(answer));
      },
      said,
    );
  const started = (run) =>
    h("p", {}, "A run of its own is on its way: ", link(["runs", run.id], "look at it"), ".");
  const deleting = async () => {
    const about =
      "Its runs that have not ended are cancelled. Made again under its name, it is the same schedule.";
    if (!(await confirmed(`Delete ${found.name}?`, about, "Delete", "danger"))) return;
    await remove(at(""));
    location.hash = pathTo("schedules");
  };
  return [
    title(
      found.name,
      mayWrite() && [
        act("Trigger now", ":trigger", started),
        found.paused
          ? act("Resume", ":resume", () => "Resumed. What fell in the pause is not replayed.")
          : act("Pause", ":pause", () => "Paused. What falls in the pause is skipped, and counted."),
        link(["schedules", found.name, "edit"], "Edit", { class: "button" }),
        button("Delete", deleting, said, { class: "danger" }),
      ],
    ),
    h(
      "p",
      { class: "lead" },
      capital(triggerWords(found)),
      " ",
      found.cron && h("code", { class: "chip" }, triggerText(found)),
      " ",
      found.paused && badge("paused"),
    ),
    found.paused && h("p", { class: "quiet" }, pausedWords(found)),
  ];
}

function pausedWords({ pause_reason: reason, paused_until: until }) {
  const end = until ? `until ${instant(until)} UTC` : "until somebody resumes it";
  return ["Paused", reason && [": ", h("bdi", {}, reason)], `, ${end}.`];
}

function runsOf({ data, next_cursor: next }, cursor, turn) {
  const begun = data.filter(({ state }) => state !== "planned");
  if (!data.length && !cursor)
    return empty(
      "No runs yet",
      h(
        "p",
        { class: "quiet" },
        "Each occurrence becomes a run, which is kept here with its attempts.",
      ),
    );
  const row = (run) => [
    link(["runs", run.id], instant(run.scheduled_for), { class: "instant" }),
    [badge(run.state), run.reason && h("small", {}, ` ${run.reason}`)],
    run.trigger.replace("_", " "),
    String(run.attempt_count),
    run.first_attempt_at ? duration(lateness(run)) : "–",
    run.ended_at ? when(run.ended_at) : "–",
  ];
  const heads = ["scheduled_for (UTC)", "State", "Trigger", "#Attempts", "#Late", "#Ended"];
  return panel(
    "Runs",
    begun.length > 0 && timeline([...begun].reverse()),
    table("Runs, newest first", heads, data.map(row), LABELLED),
    pager(cursor, next, turn),
  );
}

/** A bar for each run, oldest first; its height is how long it took from fire_after to its end. */
function timeline(runs) {
  const took = (run) => (run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.fire_after) : 0);
  const most = Math.max(1, ...runs.map(took));
  const bar = (run) => {
    const height = `${Math.round(15 + (85 * took(run)) / most)}%`;
    const text = `${clock(run.scheduled_for)} ${run.state}, ${duration(took(run))}`;
    return link(["runs", run.id], h("i", { style: { height } }), {
      class: tone(run.state),
      title: text,
      "aria-label": text,
    });
  };
  return h(
    "figure",
    { class: "stack" },
    h("div", { class: "timeline" }, runs.map(bar)),
    h(
      "figcaption",
      { class: "quiet small" },
      `Oldest to newest; the tallest took ${duration(most)} from fire_after to its end.`,
    ),
  );
}

function factsOf(found, json) {
  const { target } = found;
  const headers = Object.entries(target.headers).map(([name, value]) => `${name}: ${value}`);
  const chips = Object.entries(found.labels).map((label) =>
    h("span", { class: "chip" }, labelText(label)),
  );
  return h(
    "div",
    { class: "columns" },
    panel(
      "What is sent",
      facts([
        ["Request", h("code", {}, `${target.method} ${target.url}`)],
        ["Headers", headers.length ? h("pre", { tabindex: "0" }, headers.join("\n")) : null],
        ["Body", bodyOf(target, json)],
        ["Time limit", duration(target.timeout_seconds * 1_000)],
      ]),
    ),
    panel(
      "Rules",
      facts([
        ["Labels", chips.length ? h("span", { class: "row" }, chips) : null],
        ["Jitter", `${found.jitter_seconds} s (${found.jitter_source})`],
        ["Daylight saving", found.cron && `gap ${found.dst_gap}, fold ${found.dst_fold}`],
        ["Overlap", found.overlap.replace("_", " ")],
        ["Catch-up", found.catch_up],
        ["Deadline", found.deadline_seconds && duration(found.deadline_seconds * 1_000)],
        ["Attempts", attemptWords(found.retry)],
        ["Flow", found.flow_key ?? "the target's host"],
        ["Priority", String(found.priority)],
        ["Starts", found.start_at && `${instant(found.start_at)} UTC`],
        ["Ends", found.end_at && `${instant(found.end_at)} UTC`],
        ["Runs at most", found.max_runs && String(found.max_runs)],
        ["When complete", found.delete_after_completion ? "it is deleted" : null],
        ["Pauses itself", failuresWords(found.pause_after_failures)],
        ["Revision", `${found.revision}, ${relative(found.updated_at)}`],
        ["Id", h("code", {}, found.id)],
      ]),
    ),
  );
}

/** A target's body as text to read, `json` the text of a JSON one; null without one. */
export function bodyOf({ body, body_base64: base64 }, json) {
  const text = json === null ? (body ?? base64) : indented(json);
  return text === undefined || text === null ? null : h("pre", { tabindex: "0" }, text);
}

const failuresWords = (most) => (most ? `after ${counted(most, "failed run")} in a row` : null);

function attemptWords({ max_attempts: most, min_backoff_seconds: min, max_backoff_seconds: max, ...retry }) {
  const waits = `${duration(min * 1_000)} to ${duration(max * 1_000)} apart`;
  const growth = `each wait ${retry.multiplier} times the one before, jitter ${retry.jitter}`;
  return `at most ${most}, ${waits}: ${growth}; for ${duration(retry.max_age_seconds * 1_000)}`;
}

const lateness = (run) =>
  Math.max(0, Date.parse(run.first_attempt_at) - Date.parse(run.fire_after));
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
