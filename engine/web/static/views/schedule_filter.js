// Which schedules the list shows: as its address says it, so that a reload and the way back keep it, and as
// it is typed.

import { h } from "../dom.js";

const TYPED_MS = 250;
const STATES = { "": "All", false: "Active", true: "Paused" };
const MEMBERS = ["q", "selector", "paused", "cursor", "before"]; // `before`: schedules on earlier pages.

/** What the address says: #/schedules?q=billing-&paused=true */
export function readAddress() {
  const given = new URLSearchParams(location.hash.split("?")[1]);
  return Object.fromEntries(MEMBERS.map((name) => [name, given.get(name) ?? ""]));
}

export function address(filter) {
  const given = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
  return `#/schedules${given.size ? `?${given}` : ""}`;
}

/** The fields of a filter; `turn(change)` is called when one of them has been changed. */
export function filters(filter, turn) {
  let timer = 0;
  const changed = () => {
    clearTimeout(timer);
    turn(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()])));
  };
  const typed = () => {
    clearTimeout(timer);
    timer = setTimeout(changed, TYPED_MS);
  };
  const field = (id, label, input) =>
    h("div", { class: "field" }, h("label", { for: id }, label), input);
  const search = (id, placeholder) =>
    h("input", {
      id,
      name: id,
      type: "search",
      placeholder,
      spellcheck: "false",
      value: filter[id],
      oninput: typed,
    });
  const options = Object.entries(STATES).map(([value, text]) =>
    h("option", { value, selected: value === filter.paused }, text),
  );
  const form = h(
    "form",
    { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
    field("q", "Name begins with", search("q", "billing-")),
    field("selector", "Labels", search("selector", "env=prod, team!=web, has, !gone")),
    field("paused", "State", h("select", { id: "paused", name: "paused", onchange: changed }, options)),
  );
  return form;
}
