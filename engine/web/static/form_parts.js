// A form's fields. Each has a place for its hint and its fault, and is known by its member's name.

import { fill, h } from "./dom.js";

export function field(name, label, control, hint, kind = null) {
  control.setAttribute("aria-describedby", `about-${name}`);
  return h(
    "div",
    { class: "field", "data-field": name, "data-kind": kind },
    h("label", { for: name }, label),
    control,
    h(
      "div",
      { id: `about-${name}` },
      hint && h("span", { class: "quiet small" }, hint),
      h("p", { class: "fault" }),
    ),
  );
}

export const input = (name, values, attributes = {}) =>
  h("input", {
    id: name,
    name,
    autocomplete: "off",
    spellcheck: "false",
    value: values[name] ?? "",
    ...attributes,
  });

export const area = (name, values, placeholder = null) =>
  h("textarea", { id: name, name, spellcheck: "false", placeholder, value: values[name] ?? "" });

export const select = (name, options, chosen) =>
  h(
    "select",
    { id: name, name },
    options.map((value) =>
      h("option", { value, selected: value === chosen }, value.replace("_", " ")),
    ),
  );

export const check = (name, label, hint, isChecked) =>
  h(
    "div",
    { class: "field", "data-field": name },
    h(
      "label",
      { class: "row" },
      h("input", { id: name, name, type: "checkbox", checked: isChecked }),
      label,
    ),
    h("div", {}, h("span", { class: "quiet small" }, hint), h("p", { class: "fault" })),
  );

export const choices = (name, legend, options, chosen) =>
  h(
    "fieldset",
    { class: "row" },
    h("legend", {}, legend),
    options.map(([value, text]) =>
      h(
        "label",
        {},
        h("input", { type: "radio", name, value, checked: value === chosen }),
        " ",
        text,
      ),
    ),
  );

/** What is wrong with a document, by field; what has no field by its pointer. */
export const faultsBy = (element, errors) =>
  new Map(errors.map(({ pointer = "", detail }) => [fieldOf(element, pointer), detail]));

/** The field that a pointer is about: /target/headers/X-Team is the headers'. */
function fieldOf(element, pointer) {
  const parts = pointer.split("/").slice(1);
  if (["json", "body_base64"].includes(parts[1])) return "body";
  return parts.find((part) => part !== "target" && element.elements[part]) ?? pointer;
}

/** Mark the fields at fault and no others; the labels of those, and what has no field. */
export function showFaults(element, faults) {
  const rest = new Map(faults);
  const labels = [];
  for (const place of element.querySelectorAll(".field")) {
    const detail = rest.get(place.dataset.field);
    const control = place.querySelector("input, select, textarea");
    fill(place.querySelector(".fault"), detail);
    if (detail) {
      labels.push(place.querySelector("label").textContent);
      control.setAttribute("aria-invalid", "true");
      control.closest("details")?.setAttribute("open", "");
    } else control.removeAttribute("aria-invalid");
    rest.delete(place.dataset.field);
  }
  return [...labels, ...[...rest].map(([pointer, detail]) => `${pointer} ${detail}`.trim())];
}
