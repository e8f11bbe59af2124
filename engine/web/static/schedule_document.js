// Between a form and a schedule's document: what is written in fields, and what the engine takes.
// Only shapes are made here; what is right is the engine's to say, and its faults come back by field.

import { indented } from "./json_text.js";

/**
 * The text of the document that the form asks for, over what is stored (`old`). A JSON body goes into it
 * as it stands in its field: read and written again it would be another (json_text.js). One that is no JSON
 * is left out, so that the engine can judge the rest; `bodyFault` tells of it.
 */
export function textOf(values, old = {}) {
  const { target, ...rest } = documentOf(values, old);
  const body = values.content === "json" && !bodyFault(values) ? `,"json":${values.body}` : "";
  return `${open(rest)},"target":${open(target)}${body}}}`;
}

/** What makes a JSON body none; null when nothing does. */
export function bodyFault({ content, body }) {
  if (content !== "json") return null;
  try {
    JSON.parse(body);
    return null;
  } catch (error) {
    return `this is no JSON: ${error.message}`;
  }
}

const open = (members) => JSON.stringify(members).slice(0, -1);

function documentOf(values, old) {
  const { cron, cron_resolved, timezone, dst_gap, dst_fold, every, phase, at, ...rest } = old;
  const { target = {}, retry = {}, pause_reason, paused_until, ...kept } = rest;
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
    delete_after_completion: Boolean(values.delete_after_completion),
    pause_after_failures: number("pause_after_failures") ?? undefined,
    ...pauseOf(values),
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
      jitter: values.retry_jitter,
      max_attempts: number("max_attempts") ?? undefined,
      min_backoff_seconds: number("min_backoff_seconds") ?? undefined,
      max_backoff_seconds: number("max_backoff_seconds") ?? undefined,
      multiplier: number("multiplier") ?? undefined,
      max_age_seconds: number("max_age_seconds") ?? undefined,
    },
  };
}

/** What the fields hold for a schedule, `json` the text of its body; without one, for a new one. */
export function valuesOf(schedule, json) {
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
      retry_jitter: "full",
      max_attempts: "8",
    };
  }
  const { target, retry } = schedule;
  const { jitter: retry_jitter, ...rest } = retry;
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
    ...contentOf(target, json),
    ...rest,
    retry_jitter,
  };
}

function contentOf({ body, body_base64: base64 }, json) {
  if (json !== null) return { content: "json", body: indented(json) };
  if (body !== undefined) return { content: "text", body };
  return base64 === undefined ? { content: "none", body: "" } : { content: "base64", body: base64 };
}

const IS_OFFSET = /(?:z|[+-]\d\d:\d\d)$/i;

function triggerOf(values) {
  const { kind, cron, timezone, dst_gap, dst_fold, at } = values;
  if (kind === "at") return IS_OFFSET.test(at) ? { at } : { at, timezone };
  if (kind === "cron") return { cron, timezone: timezone || "UTC", dst_gap, dst_fold };
  return { every: numberOf(values, "every"), phase: numberOf(values, "phase") ?? undefined };
}

/** A reason and an end go with a pause alone. */
function pauseOf({ paused, pause_reason: reason, paused_until: until }) {
  if (!paused) return { paused: false };
  return { paused: true, pause_reason: reason || null, paused_until: until || null };
}

function bodyFor({ content, body }) {
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

/** A field's whole number, or its text if it holds none: the engine says why not; null when it is empty. */
export function numberOf(values, name) {
  const text = String(values[name] ?? "").trim();
  if (text === "") return null;
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}
