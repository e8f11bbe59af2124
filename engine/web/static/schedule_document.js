// Between a form and a schedule's document: what is written in fields, and what the engine takes.
// Only shapes are made here; what is right is the engine's to say, and its faults come back by field.

import { exactly } from "./api.js";

/** The document that the form asks for, over what is stored (`old`), which keeps what has no field. */
export function documentOf(values, old = {}) {
  const { cron, cron_resolved, timezone, dst_gap, dst_fold, every, phase, at, ...rest } = old;
  const { target = {}, retry = {}, ...kept } = rest;
  const number = (name) => numberOf(values, name);
  const { json, body, body_base64, ...keptTarget } = target;
  return {
    ...kept,
    ...(!old.name && values.name && { name: values.name }),
    ...triggerOf(values),
    start_at: values.start_at || null,
    end_at: values.end_at || null,
    max_runs: number("max_runs"),
    labels: pairsOf(values.labels, "="),
    jitter_seconds: number("jitter_seconds"),
    deadline_seconds: number("deadline_seconds"),
    overlap: values.overlap,
    catch_up: values.catch_up,
    catch_up_window_seconds: number("catch_up_window_seconds"),
    flow_key: values.flow_key || null,
    priority: Number(values.priority),
    pause_after_failures: number("pause_after_failures") ?? undefined,
    target: {
      ...keptTarget,
      method: values.method,
      url: values.url,
      headers: pairsOf(values.headers, ":"),
      timeout_seconds: number("timeout_seconds") ?? undefined,
      ...bodyFor(values),
    },
    retry: {
      ...retry,
      max_attempts: number("max_attempts") ?? undefined,
      min_backoff_seconds: number("min_backoff_seconds") ?? undefined,
      max_backoff_seconds: number("max_backoff_seconds") ?? undefined,
    },
  };
}

/** What the fields hold for a schedule; without one, what a new one starts with. */
export function valuesOf(schedule) {
  if (!schedule) {
    return {
      kind: "cron",
      cron: "0 * * * *",
      timezone: "UTC",
      method: "POST",
      timeout_seconds: "15",
      content: "json",
      body: "{}",
      overlap: "allow",
      catch_up: "latest",
      priority: "1",
      max_attempts: "8",
    };
  }
  const { target, retry } = schedule;
  const text = target.json === undefined ? target.body : JSON.stringify(target.json, null, 2);
  return {
    ...schedule,
    kind: ["every", "at"].find((kind) => schedule[kind]) ?? "cron",
    labels: Object.entries(schedule.labels)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
    jitter_seconds: schedule.jitter_source === "explicit" ? schedule.jitter_seconds : "",
    ...target,
    headers: Object.entries(target.headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n"),
    content:
      target.json !== undefined ? "json" : target.body_base64 ? "base64" : text ? "text" : "none",
    body: text ?? target.body_base64 ?? "",
    ...retry,
  };
}

function triggerOf(values) {
  const { kind, cron, timezone, dst_gap, dst_fold, at } = values;
  if (kind === "at") return { at };
  if (kind === "cron") return { cron, timezone: timezone || "UTC", dst_gap, dst_fold };
  return { every: numberOf(values, "every"), phase: numberOf(values, "phase") ?? undefined };
}

function bodyFor({ content, body }) {
  if (content === "json") return { json: parsed(body) };
  if (content === "text") return { body };
  return content === "base64" ? { body_base64: body } : {};
}

/** Lines of "name<separator>value". */
function pairsOf(text = "", separator) {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return Object.fromEntries(lines.map((line) => split(line, separator)));
}

function split(line, separator) {
  const place = line.indexOf(separator);
  return place < 0 ? [line, ""] : [line.slice(0, place).trim(), line.slice(place + 1).trim()];
}

function parsed(text) {
  try {
    return JSON.parse(text, exactly);
  } catch (error) {
    throw new BadField("body", `this is no JSON: ${error.message}`);
  }
}

/** What cannot be read here already, and in which field. */
export class BadField extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

/** A field's whole number; null when it is empty. */
function numberOf(values, name) {
  const text = String(values[name] ?? "").trim();
  if (text === "") return null;
  if (!/^-?\d{1,15}$/.test(text)) throw new BadField(name, `write a whole number, not "${text}"`);
  return Number(text);
}
