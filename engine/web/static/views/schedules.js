// The list of schedules, a page at a time: by how names begin, by labels, paused or not.

import { get, resource } from "../api.js";
import { fill, h, link } from "../dom.js";
import { instantIn } from "../engine_clock.js";
import { on, refreshing } from "../live.js";
import {
  badge,
  empty,
  labelText,
  pager,
  panel,
  scheduleLink,
  table,
  title,
  when,
} from "../parts.js";
import { triggerText, triggerWords } from "../trigger.js";

const PAGE = 25;
const ASKED_AT_ONCE = 4; // Last results are one request each, so they come after the list.
const TYPED_MS = 250;
const RUNS_LOOKED_AT = 10; // The newest may all be planned or under way, which is no result yet.
const LABELS_SHOWN = 6;
const NO_RESULT = new Set(["planned", "attempting"]);
const STATES = { "": "All", false: "Active", true: "Paused" };

export async function schedules({ place, signal }) {
  const filter = { q: "", selector: "", paused: "", cursor: null };
  const list = h("div");
  const shown = new Map();
  const turn = async (change) => {
    Object.assign(filter, { cursor: null }, change);
    const page = await get("v1/schedules", { ...filter, limit: PAGE }, { signal });
    fill(list, page.data.length ? listOf(page, filter, safely, shown) : nothing(filter));
    await lastResults(shown, signal);
  };
  const safely = (change) =>
    turn(change).catch(
      (error) =>
        signal.aborted || fill(list, h("p", { class: "fault", role: "alert" }, error.message)),
    );
  fill(
    place,
    title("Schedules", link(["new"], "New schedule", { class: "button primary" })),
    filters(safely),
    list,
  );
  on("run", (run) => showResult(shown, run), signal);
  const again = () => lastResults(shown, signal).catch(() => {});
  refreshing(again, signal, () => false); // Each event says its run's state: nothing needs asking.
  await turn({});
}

function filters(turn) {
  let timer = 0;
  const typed = (name) => (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => turn({ [name]: event.target.value.trim() }), TYPED_MS);
  };
  const field = (id, label, input) =>
    h("div", { class: "field" }, h("label", { for: id }, label), input);
  const search = (id, placeholder) =>
    h("input", { id, type: "search", placeholder, spellcheck: "false", oninput: typed(id) });
  const options = Object.entries(STATES).map(([value, text]) => h("option", { value }, text));
  const paused = h(
    "select",
    { id: "paused", onchange: (event) => turn({ paused: event.target.value }) },
    options,
  );
  return h(
    "form",
    { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
    field("q", "Name begins with", search("q", "billing-")),
    field("selector", "Labels", search("selector", "env=prod, team!=web, has, !gone")),
    field("paused", "State", paused),
  );
}

function listOf({ data, next_cursor: next }, filter, turn, shown) {
  shown.clear();
  const select = (labels) => {
    const input = document.getElementById("selector");
    input.value = labels;
    turn({ selector: labels });
  };
  const heads = ["Schedule", "When", "Next", "Last result"];
  const rows = data.map((schedule) => {
    const last = h("span", { class: "quiet" }, "…");
    shown.set(schedule.name, last);
    return row(schedule, last, select);
  });
  return panel(
    null,
    table("Schedules", heads, rows, { class: "cards" }),
    pager(filter.cursor, next, (cursor) => turn({ cursor })),
  );
}

function row(schedule, last, select) {
  const labels = Object.entries(schedule.labels).map(labelText);
  const more = labels.splice(LABELS_SHOWN);
  const chip = (text) =>
    h(
      "button",
      {
        type: "button",
        class: "chip",
        title: "Show those with this label",
        onclick: () => select(text),
      },
      text,
    );
  const { method, url } = schedule.target;
  return [
    h(
      "div",
      { class: "name" },
      scheduleLink(schedule.name),
      h("small", { class: "quiet clipped", title: url }, method, " ", url),
      h(
        "div",
        { class: "row" },
        labels.map(chip),
        more.length > 0 &&
          h("small", { class: "quiet", title: more.join(", ") }, `and ${more.length} more`),
      ),
    ),
    h("span", { title: triggerText(schedule) }, triggerWords(schedule)),
    next(schedule),
    last,
  ];
}

function next(schedule) {
  if (schedule.paused) return badge("paused");
  return schedule.next
    ? when(schedule.next.fire_after)
    : h("span", { class: "quiet" }, "none: complete");
}

/** Fill in the newest run's state beside each schedule that is shown. */
async function lastResults(shown, signal) {
  const waiting = [...shown];
  const worker = async () => {
    for (let found = waiting.pop(); found; found = waiting.pop()) {
      const [name, cell] = found;
      const query = { limit: RUNS_LOOKED_AT, to: instantIn(0) };
      const { data } = await get(resource("v1/schedules", name, "/runs"), query, { signal });
      const run = data.find(({ state }) => !NO_RESULT.has(state));
      fill(cell, run ? lastRun(run) : data.length ? "on its way" : "not yet");
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, worker));
}

/** What became of a run, beside its schedule if that is shown. */
function showResult(shown, run) {
  const cell = shown.get(run.schedule_name);
  if (cell && !NO_RESULT.has(run.state)) fill(cell, lastRun(run));
}

const lastRun = (run) => [
  link(["runs", run.id], badge(run.state)),
  " ",
  h("small", {}, when(run.at ?? run.ended_at ?? run.first_attempt_at ?? run.fire_after)),
];

function nothing({ q, selector, paused, cursor }) {
  if (q || selector || paused || cursor) {
    return empty(
      "Nothing matches",
      h("p", { class: "quiet" }, "Names match from their beginning; labels match whole."),
    );
  }
  return empty(
    "No schedules yet",
    h(
      "p",
      { class: "lead quiet" },
      "A schedule says when, and which request is sent then: ",
      "a cron, an interval or one instant, and a URL.",
    ),
    link(["new"], "Make the first one", { class: "button primary" }),
    h(
      "p",
      { class: "quiet" },
      "Or from a shell: ",
      h("code", {}, "offbeat apply schedules.toml"),
      ", ",
      h("code", {}, "offbeat import crontab FILE"),
    ),
  );
}
