// Plots follow the ground of the page. They are made for a light ground; DARK has the colour of each use on a dark one.
{
  const system = matchMedia("(prefers-color-scheme: dark)");
  // Numbers of traces are not searched for colours: there may be many of them.
  const LOOKS = [
    "marker",
    "line",
    "colorscale",
    "colorbar",
    "textfont",
    "insidetextfont",
    "outsidetextfont",
    "error_x",
    "error_y",
  ];
  const darkened = (value) => {
    if (typeof value === "string") return DARK[value.toLowerCase()] ?? value;
    if (Array.isArray(value)) return value.map(darkened);
    if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, darkened(one)]));
  };
  const trace = (one) => ({
    ...one,
    ...Object.fromEntries(LOOKS.filter((key) => key in one).map((key) => [key, darkened(one[key])])),
  });
  const made = new Map();
  for (const plot of document.querySelectorAll(".js-plotly-plot"))
    made.set(plot, { data: plot.data, layout: structuredClone(plot.layout) });
  const paint = (isDark) => {
    for (const [plot, { data, layout }] of made) {
      plot.dataset.ground = isDark ? "dark" : "light";
      Plotly.react(plot, isDark ? data.map(trace) : data, isDark ? darkened(layout) : structuredClone(layout));
    }
  };
  if (system.matches) paint(true);
  system.addEventListener("change", () => paint(system.matches));
  // Paper is white.
  addEventListener("beforeprint", () => system.matches && paint(false));
  addEventListener("afterprint", () => system.matches && paint(true));
}
