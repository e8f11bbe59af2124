// Making and changing a schedule, with its next occurrences beside it while one types.

import { Problem, get, post, put, resource } from "../api.js";
import { fill, h, link, pathTo } from "../dom.js";
import { clock, instant, offset } from "../format.js";
import { button, panel, table, title } from "../parts.js";
import { BadField, documentOf, valuesOf } from "../schedule_document.js";
import { offsetReason, triggerWords, wallClock } from "../trigger.js";
import { ruleFields, targetFields, triggerFields } from "./schedule_fields.js";

const TYPED_MS = 300;

export const newSchedule = ({ place, signal }) => form(place, signal, null);

export async function editSchedule({ place, about: name, signal }) {
  form(place, signal, await stored(name, signal));
}

const stored = (name, signal) =>
  get(resource("v1/schedules", name), {}, { signal, isExact: true });

/** `old`: the schedule that is changed; null makes a new one. */
function form(place, signal, old) {
  const values = valuesOf(old);
  const [preview, said] = [h("div", { role: "status" }), h("div", { role: "alert" })];
  const element = h("form", {
    class: "stack",
    novalidate: true,
    onsubmit: (event) => {
      event.preventDefault();
      save(element, old, said);
    },
  });
  fill(
    element,
    triggerFields(values, old),
    targetFields(values),
    ruleFields(values),
    said,
    endOf(old),
  );
  const look = async () => {
    try {
      const found = await post(
        "v1/schedules:preview",
        previewed(documentOf(read(element), old ?? {})),
        { signal },
      );
      showFaults(element, new Map());
      fill(preview, previewOf(found));
    } catch (error) {
      if (!signal.aborted) showProblem(element, preview, error);
    }
  };
  let timer = 0;
  element.addEventListener("input", () => {
    showKind(element);
    clearTimeout(timer);
    timer = setTimeout(look, TYPED_MS);
  });
  fill(
    place,
    title(old ? `Edit ${old.name}` : "New schedule"),
    h(
      "div",
      { class: "form" },
      element,
      h("div", { class: "aside" }, panel("When it would fire", preview)),
    ),
  );
  showKind(element);
  return look();
}

const endOf = (old) =>
  h(
    "div",
    { class: "row" },
    h("button", { class: "primary" }, old ? "Save" : "Create"),
    link(old ? ["schedules", old.name] : ["schedules"], "Cancel", { class: "button" }),
  );

async function save(element, old, said) {
  try {
    const document = documentOf(read(element), old ?? {});
    const saved = old
      ? await put(resource("v1/schedules", old.name), document, {
          headers: { "If-Match": `"${old.revision}"` },
        })
      : await post("v1/schedules", document);
    location.hash = pathTo("schedules", saved.name);
  } catch (error) {
    if (error instanceof Problem && error.status === 412) return askAboutConflict(element, old, said);
    showProblem(element, said, error);
    element.querySelector("[aria-invalid]")?.focus();
  }
}

/** Somebody was faster: their schedule is stored, and what is typed here is still here. */
function askAboutConflict(element, old, said) {
  const mine = async () => save(element, await stored(old.name), said);
  const theirs = async () => dispatchEvent(new HashChangeEvent("hashchange"));
  fill(
    said,
    h(
      "div",
      { class: "panel stack" },
      h("h2", {}, "It was changed meanwhile"),
      h("p", {}, "Another revision is stored by now. Nothing of yours was saved, nor lost."),
      h(
        "div",
        { class: "row" },
        button("Save mine over it", mine, said),
        button("Leave mine, and show what is stored", theirs, said),
      ),
    ),
  );
}

/** When it would fire does not depend on a target, so one that is not written yet is made up. */
const previewed = (document) => ({
  ...document,
  target: { ...document.target, url: document.target.url || "https://example.com/" },
});

function previewOf({ schedule, occurrences }) {
  const local = wallClock(schedule);
  const row = ({ scheduled_for: due, fire_after: fire }) => [
    h("time", {}, local ? local(due) : instant(due)),
    clock(fire),
    due === fire ? "exact" : offset(due, fire),
  ];
  return h(
    "div",
    { class: "stack" },
    h("p", {}, h("strong", {}, triggerWords(schedule))),
    h(
      "p",
      { class: "quiet small" },
      offsetReason(schedule),
      schedule.name.startsWith("schedule-") && " A name of its own gives another place.",
    ),
    occurrences.length
      ? table(
          "Next occurrences",
          [local ? schedule.timezone : "scheduled_for (UTC)", "fire_after (UTC)", "#Offset"],
          occurrences.map(row),
        )
      : h("p", {}, "It would never fire."),
  );
}

function showProblem(element, said, error) {
  const faults = new Map();
  if (error instanceof BadField) faults.set(error.field, error.message);
  if (error instanceof Problem)
    for (const [pointer, detail] of error.faults) faults.set(fieldOf(element, pointer), detail);
  const rest = showFaults(element, faults);
  fill(
    said,
    h(
      "p",
      { class: "fault" },
      rest.length ? rest.join("; ") : faults.size ? "See what is marked." : error.message,
    ),
  );
}

/** The field that a pointer is about: /target/headers/X-Team is the headers'. */
function fieldOf(element, pointer) {
  const parts = pointer.split("/").slice(1);
  if (parts[1] === "json") return "body";
  return parts.find((part) => part !== "target" && element.elements[part]) ?? pointer;
}

/** Mark the fields at fault; what has no field is returned. */
function showFaults(element, faults) {
  for (const place of element.querySelectorAll(".field")) {
    const detail = faults.get(place.dataset.field);
    const control = place.querySelector("input, select, textarea");
    fill(place.querySelector(".fault"), detail);
    if (detail) {
      control.setAttribute("aria-invalid", "true");
      control.closest("details")?.setAttribute("open", "");
    } else control.removeAttribute("aria-invalid");
    faults.delete(place.dataset.field);
  }
  return [...faults].map(([pointer, detail]) => `${pointer} ${detail}`);
}

/** Show the fields of the trigger that is chosen. */
function showKind(element) {
  const { kind } = read(element);
  for (const place of element.querySelectorAll("[data-kind]"))
    place.hidden = place.dataset.kind !== kind;
}

const read = (element) => Object.fromEntries(new FormData(element));
