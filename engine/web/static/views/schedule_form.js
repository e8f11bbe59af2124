// Making and changing a schedule, with its next occurrences beside it while one types.

import { Problem, getWithBody, post, put, resource } from "../api.js";
import { fill, h, link, pathTo } from "../dom.js";
import { faultsBy, showFaults } from "../form_parts.js";
import { clock, instant, offset } from "../format.js";
import { button, empty, panel, table, title } from "../parts.js";
import { bodyFault, textOf, valuesOf } from "../schedule_document.js";
import { mayWrite } from "../status.js";
import { offsetReason, triggerWords, wallClock } from "../trigger.js";
import { ruleFields, targetFields, triggerFields } from "./schedule_fields.js";

const TYPED_MS = 300;
const MADE_UP = "https://example.com/"; // When it would fire does not depend on a URL not written yet.

export const newSchedule = ({ place, signal }) => form(place, signal, null, null);

export async function editSchedule({ place, about: name, signal }) {
  form(place, signal, ...(await stored(name, signal)));
}

const stored = (name, signal) => getWithBody(resource("v1/schedules", name), { signal });

/** `old`: the schedule that is changed, `json` the text of its body; null makes a new one. */
function form(place, signal, old, json) {
  const heading = title(old ? `Edit ${old.name}` : "New schedule");
  if (!mayWrite()) return fill(place, heading, readOnly());
  const values = valuesOf(old, json);
  const [preview, said] = [h("div", { role: "status" }), h("div", { role: "alert" })];
  const element = h("form", { class: "stack", novalidate: true });
  fill(
    element,
    triggerFields(values, old),
    targetFields(values),
    ruleFields(values),
    said,
    endOf(old),
  );
  const untouched = element.elements.body.value;
  // A textarea has its own line ends: a body that nobody touched stays what it was.
  const read = () => {
    const now = Object.fromEntries(new FormData(element));
    return now.body === untouched ? { ...now, body: values.body } : now;
  };
  const refused = new Map(); // By field, what the last try to save met; until the field is changed.
  let looks = 0; // Of several answers on their way, the last one counts.
  const look = async () => {
    const mine = ++looks;
    try {
      const typed = read();
      const text = textOf({ ...typed, url: typed.url || MADE_UP }, old ?? {});
      const found = await post("v1/schedules:preview", text, { signal });
      if (mine !== looks) return;
      const faults = new Map([...refused, ...faultsOf(element, typed, found.errors)]);
      const where = showFaults(element, faults);
      fill(preview, found.schedule ? previewOf(found) : faultWords("It would be refused", where));
    } catch (error) {
      if (!signal.aborted) fill(preview, faultWords("No answer yet", [error.message]));
    }
  };
  let timer = 0;
  let isSaving = false; // Who presses twice means one.
  element.addEventListener("input", ({ target }) => {
    refused.delete(target.name);
    showFaults(element, refused);
    fill(said);
    showKind(element);
    clearTimeout(timer);
    timer = setTimeout(look, TYPED_MS);
  });
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isSaving) return;
    isSaving = true;
    refused.clear();
    for (const [name, detail] of await save(element, read(), old, said)) refused.set(name, detail);
    isSaving = false;
  });
  fill(
    place,
    heading,
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

/** No form for whoever could not save what it holds. */
const readOnly = () =>
  empty(
    "This key may only read",
    h("p", { class: "quiet" }, "To make or change schedules takes a key of scope write."),
    link(["schedules"], "Look at the schedules", { class: "button" }),
  );

const endOf = (old) =>
  h(
    "div",
    { class: "row" },
    h("button", { class: "primary" }, old ? "Save" : "Create"),
    link(old ? ["schedules", old.name] : ["schedules"], "Cancel", { class: "button" }),
  );

/** Store what is written, unless a preview says that it would be refused; the faults, by field. */
async function save(element, values, old, said) {
  const refuse = (faults) => {
    fill(said, faultWords("It was not saved", showFaults(element, faults)));
    element.querySelector("[aria-invalid]")?.focus();
    return faults;
  };
  try {
    const text = textOf(values, old ?? {});
    const { errors } = await post("v1/schedules:preview", text);
    const faults = faultsOf(element, values, errors);
    if (faults.size) return refuse(faults);
    const saved = old
      ? await put(resource("v1/schedules", old.name), text, {
          headers: { "If-Match": `"${old.revision}"` },
        })
      : await post("v1/schedules", text);
    location.hash = pathTo("schedules", saved.name);
  } catch (error) {
    if (error instanceof Problem && error.faults.length)
      return refuse(faultsBy(element, error.faults));
    if (error instanceof Problem && error.status === 412)
      askAboutConflict(element, values, old, said);
    else fill(said, faultWords("It was not saved", [error.message]));
  }
  return new Map();
}

/** Somebody was faster: their schedule is stored, and what is typed here is still here. */
function askAboutConflict(element, values, old, said) {
  const mine = async () => {
    const [now] = await stored(old.name);
    await save(element, values, now, said);
  };
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

/** What the engine finds wrong, and the body that it was not shown, by field. */
function faultsOf(element, values, errors) {
  const body = bodyFault(values);
  return new Map([...faultsBy(element, errors), ...(body ? [["body", body]] : [])]);
}

/** "It was not saved: URL, Headers" */
const faultWords = (what, where) => h("p", { class: "fault" }, `${what}: ${where.join(", ")}.`);

/** Show the fields of the trigger that is chosen. */
function showKind(element) {
  const kind = element.elements.kind.value;
  for (const place of element.querySelectorAll("[data-kind]"))
    place.hidden = !place.dataset.kind.split(" ").includes(kind);
}
