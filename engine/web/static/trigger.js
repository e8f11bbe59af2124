// A trigger in words, and why an occurrence fires when it does.

import { cronWords } from "./cron_words.js";
import { duration, instant } from "./format.js";

/** "every 5 minutes", "at 09:00 on Monday to Friday, Europe/Berlin", "as the cron 0 0 L * * says" */
export function triggerWords(schedule) {
  if (schedule.every) return `every ${span(schedule.every)}${phaseWords(schedule.phase)}`;
  if (schedule.at) return `once, ${instant(schedule.at)} UTC`;
  const cron = schedule.cron_resolved ?? schedule.cron;
  const zone = schedule.timezone && schedule.timezone !== "UTC" ? `, ${schedule.timezone}` : "";
  return `${cronWords(cron) ?? `as the cron ${cron} says`}${zone}`;
}

/** What was written, for beside the words. */
export function triggerText(schedule) {
  return schedule.cron ?? (schedule.every ? `every ${schedule.every} s` : schedule.at);
}

/** Why an occurrence fires when it does. */
export function offsetReason({ jitter_seconds: jitter, jitter_source: source, offset_ms: offset }) {
  if (!jitter) {
    return `It fires at its very instant: ${source === "explicit" ? "jitter_seconds is 0" : unjittered}.`;
  }
  const whence =
    source === "explicit" ? "as the schedule asks" : "the default of a schedule that lands on :00";
  return (
    `It fires ${duration(offset)} after each instant: ` +
    `its own place within ${duration(jitter * 1_000)} (${whence}), ` +
    "computed from its id. The same at every occurrence, on every node, after every restart."
  );
}

const unjittered =
  "by default only what lands on :00 has a jitter, of a tenth of its interval and 60 s at most";

/** Instants on the wall clock of a schedule's zone; null in UTC, or where the browser has no such zone. */
export function wallClock({ timezone }) {
  if (!timezone || timezone === "UTC") return null;
  try {
    const format = new Intl.DateTimeFormat("en-GB", {
      timeZone: timezone,
      weekday: "short",
      day: "numeric",
      month: "short",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    return (text) => format.format(new Date(text));
  } catch {
    return null;
  }
}

/** Seconds without rounding: 1 d 1 s */
function span(seconds) {
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const some = parts.filter(([number]) => number > 0);
  return some.map(([number, unit]) => `${number} ${unit}`).join(" ");
}

const phaseWords = (phase) => (phase ? `, with a phase of ${span(phase)}` : "");
