"use strict";
// A plot is drawn when the page has been read up to it, before its neighbour takes a part of the row.
document.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.Plots.resize(plot));
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    let copied = true;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      // Pages from files may not be allowed to use the clipboard; the older way still is.
      const range = document.createRange();
      range.selectNodeContents(source);
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      copied = document.execCommand("copy");
    }
    const before = button.textContent;
    button.textContent = copied ? "Copied" : "Select and copy by hand";
    setTimeout(() => {
      button.textContent = before;
    }, 2000);
  });
}
// Paper has no scroll bars and nothing to open: everything is shown, and plots take the width of the sheet.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach((details) => {
    details.open = true;
  });
  for (const svg of document.querySelectorAll(".main-svg")) {
    svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
  }
});
addEventListener("afterprint", () => {
  opened.forEach((details) => {
    details.open = false;
  });
  document.querySelectorAll(".main-svg").forEach((svg) => svg.removeAttribute("viewBox"));
});
