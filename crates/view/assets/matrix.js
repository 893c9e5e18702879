// The communication matrix of a job: what each rank sent to each other one.

import { css, loadColour, onGround } from "./colours.js";
import { canvasPen, colourAt, element, hover, scale } from "./dom.js";
import { bytes, number } from "./format.js";

/** Maximum number of rows and columns. More ranks share them. */
const MOST = 256;
/** Largest cell, and places of the labels, in pixels. */
const [LARGEST, LEFT, TOP] = [40, 56, 34];

const WORDS = {
  bytes: (value) => bytes(value),
  messages: (value) => `${number(value)} message${value === 1 ? "" : "s"}`,
};

/** Fills an element with the matrix of a job of a result that has the table `messages`. `pointed(words, x, y)` names a cell. */
export async function communication(result, job, box, { pointed }) {
  const rows = await result.made("communication", { job: job.name, ranks: job.ranks, most: MOST });
  const per = Math.max(1, Math.ceil(job.ranks / MOST));
  const count = Math.ceil(job.ranks / per);
  const cells = new Map(Array.from({ length: rows.rows }, (_, i) => [rows.from[i] * count + rows.to[i], i]));
  const most = { bytes: 0, messages: 0 };
  const all = { bytes: 0, messages: 0 };
  for (const what of Object.keys(most))
    for (const value of rows[what]) {
      most[what] = Math.max(most[what], value);
      all[what] += value;
    }
  const canvas = element("canvas", "", { className: "matrix" });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `What ${number(job.ranks)} ranks of ${job.name} sent to each other`);
  const choice = element(
    "select",
    Object.keys(most).map((what) => element("option", what)),
  );
  choice.setAttribute("aria-label", "What is counted");
  const legend = element("span");
  // On a logarithmic scale, as neighbours and collectives differ by orders of magnitude. The least is visible.
  const shareOf = (value) => 0.12 + 0.88 * (Math.log1p(value) / Math.log1p(most[choice.value] || 1));
  const names = (cell) => {
    const [from, to] = [cell * per, Math.min(job.ranks, (cell + 1) * per) - 1];
    return from === to ? `rank ${from}` : `ranks ${from} to ${to}`;
  };
  let size = 0;
  const draw = () => {
    const made = canvasPen(canvas);
    if (!made) return;
    const { pen, width, height } = made;
    const what = choice.value;
    size = Math.min(LARGEST, (width - LEFT - 8) / count, (height - TOP - 4) / count);
    pen.fillStyle = colourAt(canvas, "wash");
    pen.fillRect(LEFT, TOP, size * count, size * count);
    for (const [place, i] of cells) {
      pen.fillStyle = css(loadColour(shareOf(rows[what][i])));
      const [x, y] = [LEFT + (place % count) * size, TOP + Math.floor(place / count) * size];
      pen.fillRect(x, y, Math.max(1, size - (size > 6 ? 1 : 0)), Math.max(1, size - (size > 6 ? 1 : 0)));
    }
    pen.fillStyle = colourAt(canvas, "quiet");
    const step = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100].find((every) => every * size >= 34) ?? count;
    pen.fillText("to rank", LEFT, 11);
    for (let cell = 0; cell < count; cell += step) {
      pen.textAlign = "left";
      pen.fillText(String(cell * per), LEFT + cell * size, TOP - 6);
      pen.textAlign = "right";
      pen.fillText(String(cell * per), LEFT - 6, TOP + cell * size + Math.max(9, size / 2 + 4));
    }
    pen.save();
    pen.translate(11, TOP + 46);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "left";
    pen.fillText("from rank", 0, 0);
    pen.restore();
    legend.replaceChildren(
      "1 ",
      scale(90, (share) => css(loadColour(0.12 + 0.88 * share))),
      ` ${WORDS[what](most[what])}, logarithmic`,
    );
  };
  choice.addEventListener("change", draw);
  onGround(() => canvas.isConnected && draw());
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(canvas);
  hover(
    canvas,
    ({ offsetX, offsetY }) => {
      const [to, from] = [Math.floor((offsetX - LEFT) / size), Math.floor((offsetY - TOP) / size)];
      if (to < 0 || from < 0 || to >= count || from >= count) return null;
      const i = cells.get(from * count + to);
      const sent = i === undefined ? "nothing" : `${WORDS.messages(rows.messages[i])}, ${bytes(rows.bytes[i])}`;
      return `from ${names(from)} to ${names(to)}\n${sent}`;
    },
    pointed,
  );
  const shared = per > 1 ? ` A row or column stands for ${per} ranks.` : "";
  box.replaceChildren(
    element("p", [choice, " ", legend], { className: "keys" }),
    canvas,
    element(
      "p",
      `${WORDS.messages(all.messages)} with ${bytes(all.bytes)} in all, those of collectives and through memory included, control messages not.${shared}`,
      { className: "keys" },
    ),
  );
}
