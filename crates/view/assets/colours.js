// Colours that differ in brightness first, so that all readers and grey prints can distinguish them.

/** From idle (light) to full (dark). */
const LOADS = [
  [0, 0xdd, 0xe2, 0xe8],
  [0.04, 0xe9, 0xdc, 0xa8],
  [0.25, 0xfe, 0xc4, 0x4f],
  [0.5, 0xf0, 0x82, 0x1e],
  [0.7, 0xcc, 0x4c, 0x02],
  [0.85, 0x8c, 0x2d, 0x04],
  [1, 0x3b, 0x0d, 0x04],
];

/** Colour of unknown values. */
export const UNKNOWN = [0xc4, 0xcc, 0xd4];
/** Colour of the selection and of the critical path. */
export const CHOSEN = "#0072b2";
export const CRITICAL = "#009e73";

/** Red, green and blue for a load from 0 to 1. */
export function loadColour(load) {
  if (!(load >= 0)) return UNKNOWN;
  const at = Math.min(load, 1);
  const above = Math.max(1, LOADS.findIndex(([stop]) => stop >= at));
  const [low, high] = [LOADS[above - 1], LOADS[above]];
  const share = (at - low[0]) / (high[0] - low[0]);
  return [1, 2, 3].map((i) => Math.round(low[i] + share * (high[i] - low[i])));
}

export function css([red, green, blue]) {
  return `rgb(${red},${green},${blue})`;
}

/** The scale as a texture: `size` colours of four bytes. */
export function scale(size) {
  const bytes = new Uint8Array(4 * size);
  for (let i = 0; i < size; i++) bytes.set([...loadColour(i / (size - 1)), 255], 4 * i);
  return bytes;
}

// Okabe and Ito, with shades.
const STATES = ["#e69f00", "#56b4e9", "#cc79a7", "#f0e442", "#0072b2", "#d55e00", "#9a7fb8", "#7a5c3e", "#b3b3b3", "#444444"];
const FIXED = { compute: "#8fd1b5", overhead: "#999999" };

/** Colour of a state of a rank; `names` are all MPI calls, in one order for all results. */
export function stateColour(name, names) {
  return FIXED[name] ?? STATES[names.indexOf(name) % STATES.length] ?? "#444444";
}
