// Flows: what is limited, fair and broken together; by default a tenant's runs to one host and port.

import { get, put, resource } from "../api.js";
import { fill, h } from "../dom.js";
import { check, faultsBy, field, input, showFaults } from "../form_parts.js";
import { count } from "../format.js";
import { refreshing } from "../live.js";
import { LABELLED, badge, button, empty, pager, panel, table, title } from "../parts.js";
import { numberOf } from "../schedule_document.js";
import { mayWrite } from "../status.js";

const PAGE = 50;
const DOORS = { open: "the target is down", probing: "a run tries the target" };

export async function flows({ place, signal }) {
  const [list, said] = [h("div"), h("div", { role: "status" })];
  let cursor = null;
  const refresh = async () => {
    const page = await get("v1/flows", { limit: PAGE, cursor }, { signal });
    fill(
      list,
      page.data.length
        ? listOf(page, said, refresh, (to) => ((cursor = to), refresh()), cursor)
        : nothing(),
    );
  };
  fill(
    place,
    title("Flows"),
    h(
      "p",
      { class: "quiet lead" },
      "A flow is limited, fair and broken together: by default all that goes to one host and port.",
    ),
    said,
    list,
  );
  await refresh();
  refreshing(() => refresh().catch(() => {}), signal);
}

const nothing = () =>
  empty(
    "No flows yet",
    h("p", { class: "quiet" }, "A flow is there from its first run on, and is then limited here."),
  );

function listOf({ data, next_cursor: next }, said, refresh, turn, cursor) {
  const changing = mayWrite() ? ["#Change"] : [];
  const heads = ["Flow", "Breaker", "#Rate", "#Parallel", "#In flight", "#Held", ...changing];
  const row = (flow) => [
    h("code", {}, flow.key),
    [
      badge(flow.breaker),
      flow.paused && [" ", badge("paused")],
      DOORS[flow.breaker] && [" ", h("small", {}, DOORS[flow.breaker])],
    ],
    rateOf(flow),
    count(flow.parallelism),
    count(flow.inflight),
    count(flow.held),
    ...(mayWrite() ? [button("Limits", () => edit(flow, refresh), said)] : []),
  ];
  return panel(null, table("Flows", heads, data.map(row), LABELLED), pager(cursor, next, turn));
}

function rateOf({ rate, effective_rate: effective }) {
  if (rate === null && effective === null) return h("span", { class: "quiet" }, "no limit");
  const lower = effective !== null && effective !== rate;
  return [
    rate === null ? h("span", { class: "quiet" }, "no limit") : `${count(rate)} /s`,
    lower && h("small", {}, ` now ${count(effective)} /s, as the target asks`),
  ];
}

/** Ask for a flow's limits, and set them. */
async function edit(flow, refresh) {
  const said = h("p", { class: "fault", role: "alert" });
  const dialog = h("dialog", { "aria-label": `Limits of ${flow.key}` });
  const save = async (event) => {
    event.preventDefault();
    try {
      await put(resource("v1/flows", flow.key), limitsOf(form), {
        headers: { "If-Match": `"${flow.revision}"` },
      });
      dialog.close();
      await refresh();
    } catch (error) {
      const where = showFaults(form, faultsBy(form, error.faults ?? []));
      fill(said, where.length ? `Not set: ${where.join(", ")}.` : error.message);
      form.querySelector("[aria-invalid]")?.focus();
    }
  };
  const number = (name, placeholder) => input(name, flow, { inputmode: "numeric", placeholder });
  const form = h(
    "form",
    { class: "stack", onsubmit: save },
    h("h2", {}, "Limits of ", h("code", {}, flow.key)),
    field("rate", "Rate, attempts a second", number("rate", "no limit")),
    field("parallelism", "Attempts under way at most", number("parallelism", "by default")),
    check("paused", "Paused", "Its runs wait", flow.paused),
    said,
    h(
      "div",
      { class: "row" },
      h("button", { class: "primary" }, "Set"),
      h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
    ),
  );
  fill(dialog, form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function limitsOf({ elements }) {
  const values = { rate: elements.rate.value, parallelism: elements.parallelism.value };
  return {
    rate: numberOf(values, "rate"),
    parallelism: numberOf(values, "parallelism") ?? undefined,
    paused: elements.paused.checked,
  };
}
