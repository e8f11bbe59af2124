// The list of schedules, a page at a time: by how names begin, by labels, paused or not.

import { get, resource } from "../api.js";
import { fill, h, link } from "../dom.js";
import { instantIn } from "../engine_clock.js";
import { count, counted } from "../format.js";
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
import { askStatus, mayWrite, schedulesInAll } from "../status.js";
import { triggerText, triggerWords } from "../trigger.js";
import { address, filters, readAddress } from "./schedule_filter.js";

const PAGE = 25;
const ASKED_AT_ONCE = 4; // Last results are one request each, so they come after the list.
const RUNS_LOOKED_AT = 10; // The newest may all be planned or under way, which is no result yet.
const LABELS_SHOWN = 6;
const NO_RESULT = new Set(["planned", "attempting"]);

export async function schedules({ place, signal }) {
  const filter = readAddress();
  const list = h("div");
  const shown = new Map();
  let turns = 0; // Of several answers on their way, the last one counts.
  const turn = async (change) => {
    const mine = ++turns;
    Object.assign(filter, { cursor: "", before: "" }, change);
    const page = await pageOf(filter, signal);
    if (mine !== turns) return;
    fill(list, page.data.length ? listOf(page, filter, go, shown) : nothing(filter));
    await lastResults(shown, signal);
  };
  const go = (change) => {
    const turned = turn(change);
    // A page is a step that Back takes back; a filter that is being typed is none.
    const step = change.cursor === undefined ? "replaceState" : "pushState";
    history[step](null, "", address(filter));
    return turned.catch(
      (error) =>
        signal.aborted || fill(list, h("p", { class: "fault", role: "alert" }, error.message)),
    );
  };
  fill(
    place,
    title(
      "Schedules",
      mayWrite() && link(["new"], "New schedule", { class: "button primary" }),
    ),
    filters(filter, go),
    list,
  );
  on("run", (run) => showResult(shown, run), signal);
  const again = () => lastResults(shown, signal).catch(() => {});
  refreshing(again, signal, () => false); // Each event says its run's state: nothing needs asking.
  await askStatus(signal); // How many there are by now.
  await turn({ ...filter });
}

/** A page; one that is empty has looked at thousands which the filter leaves out, and there is more. */
async function pageOf({ q, selector, paused, cursor }, signal) {
  const query = { q, selector, paused, limit: PAGE };
  let page = await get("v1/schedules", { ...query, cursor }, { signal });
  while (!page.data.length && page.next_cursor)
    page = await get("v1/schedules", { ...query, cursor: page.next_cursor }, { signal });
  return page;
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
  const before = Number(filter.before);
  return panel(
    null,
    table("Schedules", heads, rows, { class: "cards" }),
    h(
      "div",
      { class: "title" },
      h("p", { class: "quiet small" }, whichWords(before, data.length, next, filter)),
      pager(filter.cursor, next, (cursor) =>
        turn(cursor ? { cursor, before: before + data.length } : { cursor: "" }),
      ),
    ),
  );
}

/** "26 to 50 of 10,000 schedules", "1 to 25 of those that match, of 10,000 schedules" */
function whichWords(before, here, next, { q, selector, paused }) {
  const all = counted(schedulesInAll() ?? 0, "schedule");
  const span = `${count(before + 1)} to ${count(before + here)}`;
  if (!(q || selector || paused)) return `${span} of ${all}`;
  return next ? `${span} of those that match, of ${all}` : `${span}, the last that match, of ${all}`;
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
    mayWrite() && link(["new"], "Make the first one", { class: "button primary" }),
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
