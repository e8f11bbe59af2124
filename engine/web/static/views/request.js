// A run's request: shown as it goes out, and as a curl command that sends the same.

import { fill, h } from "../dom.js";
import { button, facts, panel } from "../parts.js";
import { bodyOf } from "./schedule.js";

const NEEDS_LENGTH = ["POST", "PUT", "PATCH"]; // They say that there is no body (RFC 9110 §8.6).

/**
 * What a run sends, with its own target: its schedule may have another by now. `json` is the text of a
 * JSON body, null without one.
 */
export function requestOf(found, json, said) {
  const { target } = found;
  const copy = button(
    "Copy as curl",
    async () => {
      await navigator.clipboard.writeText(curl(found, json));
      fill(said, "Copied. It sends what is shown here; the engine's signatures it cannot make.");
    },
    said,
  );
  return panel(
    "Request",
    h(
      "div",
      { class: "stack" },
      facts([
        ["Sent to", h("code", {}, `${target.method} ${target.url}`)],
        ["Headers", h("pre", { tabindex: "0" }, headersOf(found).map(lineOf).join("\n"))],
        ["Body", bodyOf(target, json)],
      ]),
      h("p", { class: "quiet small" }, json === null ? "" : "Sent without these blanks. ", BESIDES),
      !target.url.startsWith("inproc:") && h("div", {}, copy),
    ),
  );
}

const BESIDES =
  "Each attempt sends this with Host and Content-Length, and with its own X-Attempt, " +
  "webhook-timestamp and signatures (webhook-signature, X-Scheduler-Signature). Credentials are masked.";

/** The headers that every attempt has alike. */
function headersOf(found) {
  const { headers, ...body } = found.target;
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const type = names.includes("content-type") ? null : contentType(body);
  const agent = `offbeat/${document.documentElement.dataset.version}`;
  return [
    ...(names.includes("user-agent") ? [] : [["User-Agent", agent]]),
    ...Object.entries(headers),
    ...(type ? [["Content-Type", type]] : []),
    ["Idempotency-Key", found.idempotency_key],
    ["webhook-id", found.idempotency_key],
    ["X-Scheduled-For", found.scheduled_for],
    ["X-Fire-After", found.fire_after],
    ["X-Schedule-Id", found.schedule_id],
    ["X-Schedule-Name", found.schedule_name],
    ["X-Trigger", found.trigger],
  ];
}

/** What the engine says of a body whose tenant says nothing; null without one. */
function contentType({ json, body, body_base64: base64 }) {
  if (json !== undefined) return "application/json";
  if (body !== undefined) return "text/plain; charset=utf-8";
  return base64 === undefined ? null : "application/octet-stream";
}

/** The same bytes: what curl would add of its own (Accept, a type for forms) is taken away again. */
function curl(found, json) {
  const { method, url, body, body_base64: base64 } = found.target;
  const headers = headersOf(found);
  const text = json ?? body ?? (NEEDS_LENGTH.includes(method) && base64 === undefined ? "" : null);
  const isTyped = headers.some(([name]) => name.toLowerCase() === "content-type");
  const isAccepting = headers.some(([name]) => name.toLowerCase() === "accept");
  const piped = base64 === undefined ? "" : `printf %s ${quoted(base64)} | base64 -d | `;
  const lines = [
    `${piped}curl ${method === "HEAD" ? "--head" : `-X ${quoted(method)}`} ${quoted(url)}`,
    "--http1.1 --globoff --path-as-is",
    !isAccepting && "-H 'Accept:'",
    !isTyped && "-H 'Content-Type:'",
    ...headers.map((header) => `-H ${quoted(header[1] === "" ? `${header[0]};` : lineOf(header))}`),
    text !== null && `--data-raw ${quoted(text)}`,
    base64 !== undefined && "--data-binary @-",
  ];
  return lines.filter(Boolean).join(" \\\n  ");
}

const lineOf = ([name, value]) => `${name}: ${value}`;

/** For a POSIX shell: nothing in single quotes means anything but the quote itself. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
