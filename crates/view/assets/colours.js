// Colours that differ in brightness first, so that all readers and grey prints can distinguish them.

import TABLE from "./table-of-colours.js";

const [LIGHT, DARK] = [0, 1];
const bits = (hex) => parseInt(hex.slice(1), 16);
// From idle to nearly full, in even steps of OKLab lightness: for a light ground and for a dark one.
const RAMPS = [LIGHT, DARK].map((ground) => TABLE.load.map((pair) => bits(pair[ground])));
/** Full links: no part of the ramps, and distinct from them for all kinds of colour blindness. */
const FULL = TABLE.full.map(bits);
/** Unknown values. */
const UNKNOWN = TABLE.unknown.map(bits);
/** The critical path. */
export const CRITICAL = TABLE.critical[LIGHT];

const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];

const system = window.matchMedia("(prefers-color-scheme: dark)");
const { classList } = document.documentElement;
const listeners = [];

/** Whether the page has a dark ground. Prints have a white one. */
export const isDark = () => system.matches && !classList.contains("print");

/** Calls `act` when the ground changes. It must draw at once: a print does not wait. */
export const onGround = (act) => listeners.push(act);

const changed = () => listeners.forEach((act) => act());
system.addEventListener("change", changed);
for (const event of ["beforeprint", "afterprint"])
  window.addEventListener(event, () => {
    classList.toggle("print", event === "beforeprint");
    changed();
  });

/** Red, green and blue of a share from 0 to 1; of one that is `full`; of an unknown one (NaN). */
export function loadColour(share, full = false) {
  const theme = isDark() ? DARK : LIGHT;
  if (full) return parts(FULL[theme]);
  if (!(share >= 0)) return parts(UNKNOWN[theme]);
  const ramp = RAMPS[theme];
  const at = Math.min(share, 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(at), ramp.length - 2);
  const [from, to] = [parts(ramp[low]), parts(ramp[low + 1])];
  return from.map((value, i) => Math.round(value + (at - low) * (to[i] - value)));
}

export function css([red, green, blue]) {
  return `rgb(${red},${green},${blue})`;
}

// Ranks have a light ground in both themes.
const STATES = TABLE.states.map((pair) => pair[LIGHT]);
const FIXED = { compute: TABLE.time.compute[LIGHT], overhead: TABLE.time.overhead[LIGHT] };

/** Colour of a cause of the time of a rank on a light ground: a key of `time` in the table of colours. */
export const timeColour = (cause) => TABLE.time[cause][LIGHT];

/** Colour of a state of a rank; `names` are all MPI calls, in one order for all results. */
export function stateColour(name, names) {
  return FIXED[name] ?? STATES[names.indexOf(name) % STATES.length] ?? TABLE.other[LIGHT];
}
