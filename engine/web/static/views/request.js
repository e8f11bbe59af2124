// A run's request: shown as it goes out, and as a curl command.

import { fill, h } from "../dom.js";
import { button, facts, panel } from "../parts.js";
import { bodyOf } from "./schedule.js";

/** What a run sends, with its own target: its schedule may have another by now. */
export function requestOf(found, said) {
  const { target } = found;
  const copy = button(
    "Copy as curl",
    async () => {
      await navigator.clipboard.writeText(curl(found, target));
      fill(
        said,
        "Copied. It has the run's key but no signature: the secret never leaves the engine.",
      );
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
        [
          "Headers",
          h(
            "pre",
            { tabindex: "0" },
            headersOf(found, target)
              .map(([name, value]) => `${name}: ${value}`)
              .join("\n"),
          ),
        ],
        ["Body", bodyOf(target)],
      ]),
      h(
        "p",
        { class: "quiet small" },
        "As each attempt of this run sends it, besides its signatures. Credentials are masked.",
      ),
      h("div", {}, copy),
    ),
  );
}

function headersOf(found, target) {
  return [
    ...Object.entries(target.headers),
    ["Idempotency-Key", found.idempotency_key],
    ["webhook-id", found.idempotency_key],
    ["X-Scheduled-For", found.scheduled_for],
    ["X-Fire-After", found.fire_after],
    ["X-Schedule-Id", found.schedule_id],
    ["X-Schedule-Name", found.schedule_name],
    ["X-Trigger", found.trigger],
  ];
}

function curl(found, target) {
  const { json, body, body_base64: base64 } = target;
  const text = json === undefined ? body : JSON.stringify(json);
  const piped = base64 ? `printf %s ${quoted(base64)} | base64 -d | ` : "";
  const lines = [
    `${piped}curl -X ${quoted(target.method)} ${quoted(target.url)}`,
    ...headersOf(found, target).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    text && `--data-raw ${quoted(text)}`,
    base64 && "--data-binary @-",
  ];
  return lines.filter(Boolean).join(" \\\n  ");
}

/** For a POSIX shell: nothing in single quotes means anything but the quote itself. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
