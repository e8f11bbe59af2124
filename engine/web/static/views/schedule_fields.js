// The fields of a schedule's form.

import { h } from "../dom.js";
import { area, check, choices, field, input, select } from "../form_parts.js";
import { panel } from "../parts.js";

const METHODS = ["POST", "PUT", "PATCH", "GET", "DELETE", "HEAD"];
const KINDS = [
  ["cron", "Cron"],
  ["every", "Interval"],
  ["at", "Once"],
];
const CONTENTS = ["json", "text", "base64", "none"];
const DST_GAPS = ["shift", "skip"];
const DST_FOLDS = ["first", "both"];
const OVERLAPS = ["allow", "skip", "buffer_one"];
const CATCH_UPS = ["latest", "skip", "all"];
const RETRY_JITTERS = ["full", "partial", "decorrelated", "none"];

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
          "cron at",
        ),
        field(
          "every",
          "Every, in seconds",
          input("every", values, { inputmode: "numeric" }),
          "From 1 s to a year",
          "every",
        ),
        field(
          "phase",
          "Phase, in seconds",
          input("phase", values, { placeholder: "0", inputmode: "numeric" }),
          "Every hour with a phase of 90: at 00:01:30, 01:01:30, …",
          "every",
        ),
        field(
          "at",
          "Instant",
          input("at", values, { placeholder: "2027-01-01T09:00:00Z" }),
          "With its offset from UTC, or without one in the zone beside it",
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
      rareFields(values),
    ),
  );
}

/** What few schedules need, folded. */
function rareFields(values) {
  const instant = { placeholder: "2027-01-01T00:00:00Z" };
  const whole = { placeholder: "none", inputmode: "numeric" };
  const byDefault = { ...whole, placeholder: "by default" };
  const of = (name, label, hint, attributes) =>
    field(name, label, input(name, values, attributes), hint);
  const chosen = (name, label, options, hint, kind) =>
    field(name, label, select(name, options, values[name]), hint, kind);
  const ticked = (name, label, hint) => check(name, label, hint, values[name] === true);
  return h(
    "details",
    {},
    h("summary", {}, "More rules"),
    group(
      "Its span",
      of("start_at", "Not before", "Its first scheduled_for at the earliest", instant),
      of("end_at", "Not after", "Its last scheduled_for at the latest", instant),
      of("max_runs", "Runs at most", "Skipped ones count, too", whole),
      ticked("delete_after_completion", "Delete it when complete", "Once nothing more is owed"),
    ),
    group(
      "Tries after a failed attempt",
      of("min_backoff_seconds", "First wait, in seconds", null, byDefault),
      of("multiplier", "Each wait is longer by", "Times the one before", byDefault),
      of("max_backoff_seconds", "Longest wait, in seconds", null, byDefault),
      chosen("retry_jitter", "Waits are spread", RETRY_JITTERS, "full: from nothing to the wait"),
      of("max_age_seconds", "For so long, in seconds", "From the first attempt on", byDefault),
      of("pause_after_failures", "Pause after failed runs in a row", "0: never", whole),
    ),
    group(
      "Its place",
      of("flow_key", "Flow", "What shares a limit; by default the target's host and port"),
      of("catch_up_window_seconds", "Missed are made up for, in seconds", "How far back", byDefault),
      chosen("dst_gap", "An hour that does not exist", DST_GAPS, "In spring", "cron"),
      chosen("dst_fold", "An hour that comes twice", DST_FOLDS, "In autumn", "cron"),
    ),
    group(
      "A pause",
      ticked("paused", "Paused", "What falls in a pause is skipped, and counted"),
      of("pause_reason", "Why", "Shown to whoever finds it resting"),
      of("paused_until", "Until", "It resumes by itself", instant),
    ),
  );
}

const group = (legend, ...fields) =>
  h("fieldset", {}, h("legend", {}, legend), h("div", { class: "fields" }, fields));
