// Curves over time, drawn by uPlot (static/vendor), in the page's own colours. A canvas says nothing
// to a screen reader, so each chart has a sentence that does.

import { fill, h } from "./dom.js";
import { clock, count } from "./format.js";

const HEIGHT = 260;

/**
 * A chart of runs a second. `curves`: {name, color, fill, dash}, colours by the name of a custom
 * property. Returns {element, draw}; draw(data, now, sentence) takes uPlot's columns, seconds first.
 */
export function chart(curves, signal) {
  const legend = h("p", { class: "legend" });
  const canvas = h("div", { class: "chart", role: "img" });
  const element = h("div", {}, legend, canvas);
  let plot = null;
  let now = 0;
  const draw = (data, nowSeconds, sentence) => {
    now = nowSeconds;
    canvas.setAttribute("aria-label", sentence);
    if (plot) plot.setData(data);
    plot ??= new globalThis.uPlot(
      options(curves, canvas.clientWidth, () => now, legend),
      data,
      canvas,
    );
    writeLegend(plot, curves, legend);
  };
  const watch = new ResizeObserver(() =>
    plot?.setSize({ width: canvas.clientWidth, height: HEIGHT }),
  );
  watch.observe(canvas);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => plot?.redraw(false), { signal });
  signal.addEventListener("abort", () => (watch.disconnect(), plot?.destroy()));
  return { element, draw };
}

function options(curves, width, now, legend) {
  const axis = {
    stroke: () => color("--quiet"),
    grid: { stroke: () => color("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  return {
    width,
    height: HEIGHT,
    tzDate: (seconds) => globalThis.uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(4, most * 1.08)] } },
    axes: [
      { ...axis, size: 30, values: (_, splits) => splits.map((at) => hourAndMinute(at)) },
      {
        ...axis,
        size: 56,
        values: (_, splits) => splits.map((n) => (Number.isInteger(n) ? count(n) : "")),
      },
    ],
    series: [{}, ...curves.map(seriesOf)],
    hooks: {
      drawClear: [(plot) => shadePast(plot, now())],
      setCursor: [(plot) => writeLegend(plot, curves, legend)],
    },
  };
}

const seriesOf = (curve) => ({
  label: curve.name,
  stroke: () => color(curve.color),
  fill: curve.fill && (() => `${color(curve.color)}22`),
  dash: curve.dash,
  width: 1.5,
  paths: globalThis.uPlot.paths.stepped({ align: 1 }),
  points: { show: false },
});

/** What has happened lies on a shade of its own, and ends with a line: now. */
function shadePast(plot, now) {
  const { ctx, bbox } = plot;
  const x = Math.min(plot.valToPos(now, "x", true), bbox.left + bbox.width);
  ctx.fillStyle = color("--hover");
  ctx.fillRect(bbox.left, bbox.top, Math.max(0, x - bbox.left), bbox.height);
  ctx.fillStyle = color("--ink");
  ctx.fillRect(x, bbox.top, devicePixelRatio, bbox.height);
}

function writeLegend(plot, curves, legend) {
  const place = plot.cursor.idx ?? null;
  const at = place === null ? "Runs a second, by 10 s" : `${clock(plot.data[0][place] * 1000)} UTC`;
  const entry = ({ name, color: mark }, index) => {
    const column = plot.data[index + 1];
    const value = place === null ? null : column[place];
    const text = value === null ? "" : count(value);
    const style = { "--mark": `var(${mark})` };
    return column.some((n) => n !== null) && h("span", { style }, name, " ", h("b", {}, text));
  };
  fill(legend, at, curves.map(entry));
}

const hourAndMinute = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 16);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
