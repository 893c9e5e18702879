// Small step plots over time, with a mark at the time of the slider.

import { number, timeUnit } from "./format.js";

/** Colours of lines, in their order. */
export const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5c3e", "#444444"];

/**
 * A canvas with steps. `lines`: [{name, begin, end, value}], `format` a value for people. `levels` hold on until the
 * next row, others are 0 where there is none. Returns the canvas; `mark(ps)` on it moves the mark.
 */
export function plot(lines, { until, format = number, holds = false, most = null }) {
  const canvas = document.createElement("canvas");
  let at = null;
  const peak = most ?? Math.max(...lines.map((line) => line.value.reduce((a, b) => Math.max(a, b), 0)), 0);
  const draw = () => {
    const pixels = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (width === 0) return;
    [canvas.width, canvas.height] = [width * pixels, height * pixels];
    const pen = canvas.getContext("2d");
    pen.scale(pixels, pixels);
    pen.font = "11px system-ui, sans-serif";
    const [left, right, top, bottom] = [4, width - 4, 14, height - 16];
    const x = (ps) => left + (ps / (until || 1)) * (right - left);
    const y = (value) => bottom - (peak > 0 ? value / peak : 0) * (bottom - top);
    pen.strokeStyle = "#d8dee4";
    pen.strokeRect(left, top, right - left, bottom - top);
    pen.fillStyle = "#57606a";
    pen.fillText(`up to ${format(peak)}`, left, 10);
    const [unit, length] = timeUnit(until);
    const end = `${number(until / length)} ${unit}`;
    pen.fillText("0", left, height - 4);
    pen.fillText(end, right - pen.measureText(end).width, height - 4);
    lines.forEach((line, index) => {
      pen.strokeStyle = LINES[index % LINES.length];
      pen.lineWidth = 1.3;
      pen.beginPath();
      let [last, level] = [0, 0];
      pen.moveTo(left, y(0));
      for (let i = 0; i < line.begin.length; i++) {
        if (!holds && line.begin[i] > last && level !== 0) {
          pen.lineTo(x(last), y(0));
          level = 0;
        }
        pen.lineTo(x(line.begin[i]), y(level));
        level = line.value[i];
        pen.lineTo(x(line.begin[i]), y(level));
        pen.lineTo(x(line.end[i]), y(level));
        last = line.end[i];
      }
      if (!holds) pen.lineTo(x(last), y(0));
      pen.lineTo(right, y(holds ? level : 0));
      pen.stroke();
    });
    if (at !== null) {
      pen.strokeStyle = "#1b1f24";
      pen.setLineDash([3, 2]);
      pen.beginPath();
      pen.moveTo(x(at), top);
      pen.lineTo(x(at), bottom);
      pen.stroke();
    }
  };
  canvas.mark = (ps) => { at = ps; draw(); };
  requestAnimationFrame(draw);
  return canvas;
}
