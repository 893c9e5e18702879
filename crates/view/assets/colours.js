// Colours that differ in brightness first, so that all readers and grey prints can distinguish them.

// From idle to nearly full, in even steps of OKLab lightness: for a light ground and for a dark one.
const RAMPS = {
  light: [0xf0f0f0, 0xcddee7, 0xa1cde6, 0x6dbce9, 0x49a7e1, 0x3891cf, 0x307cb8, 0x2e679e, 0x2d5480, 0x2b4261, 0x273140],
  dark: [0x2b2b2b, 0x313944, 0x2d4864, 0x175788, 0x0068a0, 0x0079af, 0x138aba, 0x399ac1, 0x5da9c5, 0x82b7c8, 0xa8c3ca],
};
/** Full links: no part of the ramps, and distinct from them for all kinds of colour blindness. */
const FULL = { light: 0xd54a00, dark: 0xff963c };
/** Unknown values. */
const UNKNOWN = { light: 0xdcd3c6, dark: 0x4a4238 };
/** The critical path. */
export const CRITICAL = "#009e73";

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
for (const event of ["beforeprint", "afterprint"]) window.addEventListener(event, () => { classList.toggle("print", event === "beforeprint"); changed(); });

/** Red, green and blue of a share from 0 to 1; of one that is `full`; of an unknown one (NaN). */
export function loadColour(share, full = false) {
  const theme = isDark() ? "dark" : "light";
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

// Okabe and Ito, with shades.
const STATES = ["#e69f00", "#56b4e9", "#cc79a7", "#f0e442", "#0072b2", "#d55e00", "#9a7fb8", "#7a5c3e", "#b3b3b3", "#444444"];
const FIXED = { compute: "#8fd1b5", overhead: "#999999" };

/** Colour of a state of a rank; `names` are all MPI calls, in one order for all results. */
export function stateColour(name, names) {
  return FIXED[name] ?? STATES[names.indexOf(name) % STATES.length] ?? "#444444";
}
