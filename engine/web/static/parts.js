// The few things that every screen is built of.

import { fill, h, link } from "./dom.js";
import { counted, instant, relative } from "./format.js";

const TONES = {
  succeeded: "good",
  met: "good",
  flattened: "good",
  normal: "good",
  closed: "good",
  quiet: "calm",
  failed: "bad",
  missed: "bad",
  open: "bad",
  volume: "bad",
  downstream: "bad",
  alignment: "warn",
  retry_storm: "warn",
  catch_up: "warn",
  retry_wait: "warn",
  paused: "warn",
  probing: "warn",
  skipped: "calm",
};

/** good, warn, bad or calm: what a state or a verdict means for whoever looks. */
export const tone = (word) => TONES[word] ?? "calm";

export const badge = (word, text = word.replaceAll("_", " ")) =>
  h("span", { class: `badge ${tone(word)}` }, text);

export const panel = (title, ...children) =>
  h("section", { class: "panel" }, title && h("h2", {}, title), children);

/** A title and what can be done here. */
export const title = (text, ...actions) =>
  h("div", { class: "title" }, h("h1", {}, text), h("div", { class: "row" }, actions));

/** An instant, by how far it is from now; `tellTime` keeps it true. */
export const when = (text) =>
  h(
    "time",
    { class: "instant far", datetime: text, title: `${instant(text)} UTC` },
    relative(text),
  );

/** Write anew how far instants are. */
export function tellTime() {
  for (const time of document.querySelectorAll("time.far")) {
    time.textContent = relative(time.dateTime);
  }
}

/** Labels as they are selected by: `team=billing`, or a key alone. */
export const labelText = ([name, value]) => (value === "" ? name : `${name}=${value}`);

/** Pairs of [term, description]; a description may be left out by null. */
export const facts = (pairs) =>
  h(
    "dl",
    { class: "facts" },
    described(pairs).map(([term, is]) => [h("dt", {}, term), h("dd", {}, is)]),
  );

/** Large figures: [value, unit, what it is]; in one row, or in two of the same length. */
export function figures(triples) {
  const across = triples.length > 5 ? Math.ceil(triples.length / 2) : triples.length;
  const style = { "--across": String(across) };
  return h("dl", { class: "figures", style }, triples.map(figure));
}

/** For tables of more columns than a phone is wide: a card for each row there, with each cell's head. */
export const LABELLED = { class: "cards labelled" };

/** A table of rows of cells. Heads with a leading # are of numbers. */
export function table(caption, heads, rows, attributes = {}) {
  const isNumber = heads.map((head) => head.startsWith("#"));
  const names = heads.map((head) => head.replace("#", ""));
  const cell = (tag) => (content, place) =>
    h(tag, { class: isNumber[place] && "number", "data-head": names[place] }, content);
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      attributes,
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, names.map(cell("th")))),
      h(
        "tbody",
        {},
        rows.map((cells) => h("tr", {}, cells.map(cell("td")))),
      ),
    ),
  );
}

/** What stands where there is nothing yet, and what to do about it. */
export const empty = (heading, ...children) =>
  h("section", { class: "panel empty" }, h("h2", {}, heading), children);

/** A button that does something slow once, and says what went wrong in `place`. */
export function button(text, act, place, attributes = {}) {
  const onclick = async () => {
    self.disabled = true;
    fill(place);
    await act().catch((error) =>
      fill(place, h("p", { class: "fault", role: "alert" }, error.message)),
    );
    self.disabled = false;
  };
  const self = h("button", { type: "button", ...attributes, onclick }, text);
  return self;
}

/** Ask before what cannot be undone; resolves to whether to go on. */
export function confirmed(question, explanation, verb, kind = "") {
  const dialog = h(
    "dialog",
    { "aria-label": question },
    h(
      "form",
      { method: "dialog", class: "stack" },
      h("h2", {}, question),
      h("p", {}, explanation),
      h(
        "div",
        { class: "row" },
        h("button", { value: "yes", class: `primary ${kind}` }, verb),
        h("button", { value: "", autofocus: true }, "Cancel"),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((answer) => {
    dialog.addEventListener("close", () => (dialog.remove(), answer(dialog.returnValue === "yes")));
  });
}

/** A list's pages, one at a time: nothing here loads all of a million. */
export function pager(cursor, next, turn) {
  if (!cursor && !next) return null;
  const said = h("span");
  const to = (text, place) => button(text, () => turn(place), said);
  return h(
    "div",
    { class: "row" },
    cursor && to("First page", null),
    next && to("Next page", next),
    said,
  );
}

/** Shares as bars: [text, runs], the greatest first. */
export function bars(shares) {
  const most = Math.max(1, ...shares.map(([, runs]) => runs));
  const line = ([text, runs]) =>
    h(
      "li",
      {},
      h("code", {}, text),
      h("span", {}, counted(runs, "run")),
      h("meter", { min: "0", max: String(most), value: String(runs), "aria-label": text }),
    );
  return h("ul", { class: "bars" }, shares.map(line));
}

/** A schedule's name, leading to it. */
export const scheduleLink = (name) => link(["schedules", name], name);

const described = (pairs) => pairs.filter(([, is]) => is !== null && is !== undefined && is !== "");

const figure = ([value, unit, what]) =>
  h("div", {}, h("dt", {}, what), h("dd", {}, value, unit && [" ", h("small", {}, unit)]));
