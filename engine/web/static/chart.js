// Curves over time, drawn by uPlot (static/vendor), in the page's own colours. A canvas says nothing
// to a screen reader, so each chart has a sentence that does.
//
// A herd asks for thousands of runs in one second and leaves by a hundred: on one scale the second
// curve would lie on the axis. So the scale is that of what leaves, and what is taller is cut off at
// the top and says there how tall it is.

import { fill, h } from "./dom.js";
import { clock, count } from "./format.js";

const HEIGHT = 260;
const ROOM = 1.15; // Above the tallest curve that sets the scale.
const CUT_FROM = 2; // Demand so many times the scale is cut; less is simply shown.
const RATE_SHOWN = 4; // The rate has its line while it is within so many times what leaves.
const LABEL_PX = 68; // Between two figures of what is cut off.

/**
 * A chart of runs a second. `curves`: {name, color, fill, dash, isCut}, colours by the name of a
 * custom property; `at` says how an instant is written below. Returns {element, draw}:
 * draw(data, {now, rate, sentence}) takes uPlot's columns, seconds first.
 */
export function chart(curves, signal, { at, unit }) {
  const legend = h("p", { class: "legend" });
  const canvas = h("div", { class: "chart", role: "img" });
  const sight = { now: 0, rate: 0, unit, curves, legend };
  let plot = null;
  const draw = (data, { now, rate, sentence }) => {
    Object.assign(sight, { now, rate });
    canvas.setAttribute("aria-label", sentence);
    if (plot) plot.setData(data);
    plot ??= new globalThis.uPlot(options(sight, canvas.clientWidth, at), data, canvas);
    writeLegend(plot, sight);
  };
  const watch = new ResizeObserver(() =>
    plot?.setSize({ width: canvas.clientWidth, height: HEIGHT }),
  );
  watch.observe(canvas);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => plot?.redraw(false), { signal });
  signal.addEventListener("abort", () => (watch.disconnect(), plot?.destroy()));
  return { element: h("div", {}, legend, canvas), draw };
}

function options(sight, width, at) {
  const axis = {
    stroke: () => color("--quiet"),
    grid: { stroke: () => color("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  return {
    width,
    height: HEIGHT,
    padding: [18, 28, 0, 0],
    tzDate: (seconds) => globalThis.uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false } },
    scales: { y: { range: (plot) => [0, topOf(plot.data, sight)] } },
    axes: [
      { ...axis, size: 30, space: 60, values: (_, splits) => splits.map(at) },
      {
        ...axis,
        size: 56,
        values: (_, splits) => splits.map((n) => (Number.isInteger(n) ? count(n) : "")),
      },
    ],
    series: [{}, ...sight.curves.map(seriesOf)],
    hooks: {
      drawClear: [(plot) => shadePast(plot, sight.now)],
      draw: [
        (plot) => drawNow(plot, sight.now),
        (plot) => drawRate(plot, sight.rate),
        (plot) => nameCutOff(plot, sight.curves),
      ],
      setCursor: [(plot) => writeLegend(plot, sight)],
    },
  };
}

const seriesOf = (curve) => ({
  label: curve.name,
  stroke: () => color(curve.color),
  fill: curve.fill && (() => `${color(curve.color)}22`),
  dash: curve.dash,
  width: curve.width ?? 1.5,
  paths: globalThis.uPlot.paths.stepped({ align: 1 }),
  points: { show: false },
});

/** The scale's top: of what leaves, of the rate where that is near, of what is asked for likewise. */
function topOf(data, { curves, rate }) {
  const most = (isMeant) =>
    curves.reduce((top, curve, index) => (isMeant(curve) ? greatest(data[index + 1], top) : top), 0);
  const leaving = Math.max(4, most((curve) => !curve.isCut));
  const withRate = rate <= leaving * RATE_SHOWN ? Math.max(leaving, rate) : leaving;
  const asked = most((curve) => curve.isCut);
  return Math.max(withRate, asked <= withRate * CUT_FROM ? asked : 0) * ROOM;
}

const greatest = (column, least) => column.reduce((top, n) => (n > top ? n : top), least);

/** What has happened lies on a shade of its own, */
function shadePast(plot, now) {
  const { ctx, bbox } = plot;
  const x = Math.max(bbox.left, Math.min(plot.valToPos(now, "x", true), bbox.left + bbox.width));
  ctx.fillStyle = color("--hover");
  ctx.fillRect(bbox.left, bbox.top, x - bbox.left, bbox.height);
}

/** and ends with a line: now. */
function drawNow(plot, now) {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(now, "x", true);
  if (x <= bbox.left || x >= bbox.left + bbox.width) return;
  ctx.fillStyle = color("--ink");
  ctx.fillRect(x, bbox.top, devicePixelRatio, bbox.height);
  write(plot, "now", x + 5 * devicePixelRatio, bbox.top + 12 * devicePixelRatio, "--ink", "left");
}

function drawRate(plot, rate) {
  const { ctx, bbox } = plot;
  if (!rate || rate > plot.scales.y.max) return;
  const y = plot.valToPos(rate, "y", true);
  ctx.save();
  ctx.strokeStyle = color("--bad");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
  const right = bbox.left + bbox.width - 6 * devicePixelRatio; // At the left is now.
  write(plot, `${count(rate)}/s can leave`, right, y - 5 * devicePixelRatio, "--bad", "right");
}

/** Above each peak that does not fit, how tall it is; of neighbours, the tallest. */
function nameCutOff(plot, curves) {
  const index = curves.findIndex((curve) => curve.isCut);
  const column = plot.data[index + 1];
  const peaks = [...column.keys()]
    .filter((place) => column[place] > plot.scales.y.max)
    .sort((a, b) => column[b] - column[a]);
  const named = [];
  for (const place of peaks) {
    const x = plot.valToPos(plot.data[0][place], "x", true);
    if (named.some((other) => Math.abs(other - x) < LABEL_PX * devicePixelRatio)) continue;
    named.push(x);
    const y = plot.bbox.top - 5 * devicePixelRatio;
    write(plot, `↑ ${count(column[place])}`, x, y, curves[index].color, "center");
  }
}

function write({ ctx }, text, x, y, name, align) {
  ctx.save();
  const size = 12 * devicePixelRatio;
  ctx.font = `${size}px system-ui, sans-serif`;
  ctx.textAlign = align;
  const { actualBoundingBoxLeft: left, width } = ctx.measureText(text);
  ctx.fillStyle = color("--panel"); // A ground, so that it can be read over curves.
  ctx.fillRect(x - left, y - size, width, 1.2 * size);
  ctx.fillStyle = color(name);
  ctx.fillText(text, x, y);
  ctx.restore();
}

function writeLegend(plot, { curves, legend, unit }) {
  const place = plot.cursor.idx ?? null;
  const at = place === null ? unit : `${clock(plot.data[0][place] * 1000)} UTC`;
  const entry = ({ name, color: mark }, index) => {
    const column = plot.data[index + 1];
    const value = place === null ? null : column[place];
    const text = value === null ? "" : count(value);
    const style = { "--mark": `var(${mark})` };
    return column.some((n) => n !== null) && h("span", { style }, name, " ", h("b", {}, text));
  };
  fill(legend, at, curves.map(entry));
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
