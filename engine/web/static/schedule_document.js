// Between a form and a schedule's document: what is written in fields, and what the engine takes.
// Only shapes are made here; what is right is the engine's to say, and its faults come back by field.

/** The document that the form asks for, over what is stored (`old`), which keeps what has no field. */
export function documentOf(values, old = {}) {
  const { cron, cron_resolved, timezone, every, phase, at, target = {}, retry = {}, ...kept } = old;
  const { json, body, body_base64, ...keptTarget } = target;
  return {
    ...kept,
    ...(!old.name && values.name && { name: values.name }),
    ...triggerOf(values, old),
    labels: pairsOf(values.labels, "="),
    jitter_seconds: numberOf(values.jitter_seconds),
    deadline_seconds: numberOf(values.deadline_seconds),
    overlap: values.overlap,
    catch_up: values.catch_up,
    priority: Number(values.priority),
    target: {
      ...keptTarget,
      method: values.method,
      url: values.url,
      headers: pairsOf(values.headers, ":"),
      timeout_seconds: numberOf(values.timeout_seconds) ?? undefined,
      ...bodyFor(values, body_base64),
    },
    retry: { ...retry, max_attempts: numberOf(values.max_attempts) ?? undefined },
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
    max_attempts: retry.max_attempts,
  };
}

function triggerOf({ kind, cron, timezone, every, at }, old) {
  if (kind === "every") return { every: numberOf(every), ...(old.phase && { phase: old.phase }) };
  if (kind === "at") return { at };
  return { cron, timezone: timezone || "UTC" };
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
    return JSON.parse(text);
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

const numberOf = (text) =>
  text === "" || text === null || text === undefined ? null : Number(text);
