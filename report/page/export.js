// A pane's drawing as an SVG file of its own: colours and fonts are written out, nothing is looked up elsewhere.

const pixel = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
const plainColours = new Map();
/** Any CSS colour as rgb(), which every program reads. */
function plainColour(colour) {
  if (colour === "none") return colour;
  if (!plainColours.has(colour)) {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b] = pixel.getImageData(0, 0, 1, 1).data;
    plainColours.set(colour, `rgb(${r},${g},${b})`);
  }
  return plainColours.get(colour);
}

const painted = {
  rect: ["fill", "stroke", "stroke-width", "stroke-dasharray"],
  path: ["fill", "stroke", "stroke-width"],
  text: ["fill", "font-size", "font-weight", "text-anchor"],
};

function drawingText(pane) {
  const edge = 16, copy = pane.view.cloneNode(true);
  const styled = [...pane.view.querySelectorAll("rect, path, text")], copies = [...copy.querySelectorAll("rect, path, text")];
  styled.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const key of painted[element.tagName]) {
      const value = style.getPropertyValue(key);
      if (value) copies[i].setAttribute(key, key === "fill" || key === "stroke" ? plainColour(value) : value);
    }
  });
  for (const element of [copy, ...copy.querySelectorAll("*")])
    for (const name of ["class", "style", "display", "data-index", "data-at", "data-fused"]) element.removeAttribute(name);
  copy.setAttribute("transform", `translate(${edge},${edge})`);
  const [w, h] = [pane.drawing.w + 2 * edge, pane.drawing.h + 2 * edge].map(Math.ceil);
  const svg = el("svg:svg", {xmlns: "http://www.w3.org/2000/svg", width: w, height: h, viewBox: `0 0 ${w} ${h}`,
    "font-family": family, "font-size": 12});
  svg.append(el("svg:rect", {width: w, height: h, fill: plainColour(paint("--sunk"))}), copy);
  return new XMLSerializer().serializeToString(svg);
}

function saveDrawing(pane) {
  const far = pane.svg.classList.contains("far"), hidden = pane.bands.filter(b => !b.shown);
  pane.svg.classList.remove("far");
  for (const band of hidden) band.group.removeAttribute("display");  // styles of what is not displayed are not computed
  const text = drawingText(pane);
  for (const band of hidden) band.group.setAttribute("display", "none");
  pane.svg.classList.toggle("far", far);
  const link = el("a", {href: URL.createObjectURL(new Blob([text], {type: "image/svg+xml"})), download: `${document.title.split(" ")[0].replaceAll("/", "-")}-${pane.caption.key}.svg`});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
