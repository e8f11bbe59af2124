// The fields of a schedule's form. Each has a place for its hint and its fault, by the member's name.

import { h } from "../dom.js";
import { panel } from "../parts.js";

const METHODS = ["POST", "PUT", "PATCH", "GET", "DELETE", "HEAD"];
const KINDS = [
  ["cron", "Cron"],
  ["every", "Interval"],
  ["at", "Once"],
];
const CONTENTS = ["json", "text", "base64", "none"];
const OVERLAPS = ["allow", "skip", "buffer_one"];
const CATCH_UPS = ["latest", "skip", "all"];

export function triggerFields(values, old) {
  const name = old
    ? null
    : field(
        "name",
        "Name",
        input("name", values, { placeholder: "nightly-report" }),
        "Unique; it cannot be changed later. Empty: one is made up.",
      );
  return panel(
    "When",
    h(
      "div",
      { class: "stack" },
      name,
      choices("kind", "Trigger", KINDS, values.kind),
      h(
        "div",
        { class: "fields" },
        field(
          "cron",
          "Cron expression",
          input("cron", values, { class: "mono" }),
          "minute hour day month weekday; H chooses for you",
          "cron",
        ),
        field(
          "timezone",
          "Time zone",
          input("timezone", values, { placeholder: "Europe/Berlin" }),
          "IANA name",
          "cron",
        ),
        field(
          "every",
          "Every, in seconds",
          input("every", values, { inputmode: "numeric" }),
          "From 1 s to a year",
          "every",
        ),
        field(
          "at",
          "Instant",
          input("at", values, { placeholder: "2027-01-01T09:00:00Z" }),
          "RFC 3339",
          "at",
        ),
        field(
          "jitter_seconds",
          "Jitter, in seconds",
          input("jitter_seconds", values, { placeholder: "by default", inputmode: "numeric" }),
          "0: exact. Empty: spread when it lands on :00",
        ),
      ),
    ),
  );
}

export function targetFields(values) {
  return panel(
    "What is sent",
    h(
      "div",
      { class: "stack" },
      h(
        "div",
        { class: "fields" },
        field("method", "Method", select("method", METHODS, values.method)),
        field("content", "Body is", select("content", CONTENTS, values.content)),
      ),
      field(
        "url",
        "URL",
        input("url", values, { type: "url", placeholder: "https://example.com/hook" }),
      ),
      field(
        "headers",
        "Headers",
        area("headers", values, "X-Team: billing"),
        "One a line. A value shown as ******** is kept as it is.",
      ),
      field("body", "Body", area("body", values)),
    ),
  );
}

export function ruleFields(values) {
  return panel(
    "Rules",
    h(
      "div",
      { class: "stack" },
      field(
        "labels",
        "Labels",
        area("labels", values, "team=billing\nenv=prod"),
        "One a line, for finding and selecting",
      ),
      h(
        "div",
        { class: "fields" },
        field(
          "overlap",
          "If the last one is still active",
          select("overlap", OVERLAPS, values.overlap),
        ),
        field("catch_up", "Missed while down", select("catch_up", CATCH_UPS, values.catch_up)),
        field(
          "max_attempts",
          "Attempts at most",
          input("max_attempts", values, { inputmode: "numeric" }),
        ),
        field(
          "timeout_seconds",
          "Time limit, in seconds",
          input("timeout_seconds", values, { inputmode: "numeric" }),
        ),
        field(
          "deadline_seconds",
          "Deadline, in seconds",
          input("deadline_seconds", values, { placeholder: "none", inputmode: "numeric" }),
          "After that it is worthless",
        ),
        field(
          "priority",
          "Priority",
          select("priority", ["0", "1", "2", "3"], String(values.priority)),
          "0 goes first",
        ),
      ),
    ),
  );
}

function field(name, label, control, hint, kind = null) {
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

const input = (name, values, attributes = {}) =>
  h("input", {
    id: name,
    name,
    autocomplete: "off",
    spellcheck: "false",
    value: values[name] ?? "",
    ...attributes,
  });

const area = (name, values, placeholder = null) =>
  h("textarea", { id: name, name, spellcheck: "false", placeholder, value: values[name] ?? "" });

const select = (name, options, chosen) =>
  h(
    "select",
    { id: name, name },
    options.map((value) =>
      h("option", { value, selected: value === chosen }, value.replace("_", " ")),
    ),
  );

const choices = (name, legend, options, chosen) =>
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
