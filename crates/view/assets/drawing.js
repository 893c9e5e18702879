// Lines and dots with WebGL2. Knows positions and loads, not their meaning.

import { scale } from "./colours.js";

const LANE = 2.6;
/** Segments of a curved line, and corners of its strip. */
const PIECES = 8;
const CORNERS = { straight: 4, bent: 2 * (PIECES + 1) };
const COLOURS = 256;

// A line is a strip along a quadratic curve. Its width and its offset are in pixels.
const LINE = `#version 300 es
layout(location = 0) in vec4 ends;
layout(location = 1) in vec2 form;
layout(location = 2) in float load;
uniform vec2 canvas, centre;
uniform float zoom, segments, lane, extra, least, most;
uniform sampler2D colours;
uniform vec4 fixed_colour;
flat out vec4 tint;
void main() {
  vec2 a = (ends.xy - centre) * zoom, b = (ends.zw - centre) * zoom;
  vec2 along = b - a;
  vec2 side = vec2(-along.y, along.x);
  // Each direction bends to its own right.
  vec2 c = (a + b) * 0.5 + side * form.x * 2.0;
  int corner = gl_VertexID % (2 * (int(segments) + 1));
  float t = float(corner / 2) / segments;
  vec2 p = mix(mix(a, c, t), mix(c, b, t), t);
  vec2 d = mix(c - a, b - c, t);
  vec2 n = length(d) > 0.0 ? normalize(vec2(-d.y, d.x)) : vec2(0.0);
  float width = (load < 0.0 ? least : mix(least, most, clamp(load, 0.0, 1.0))) + extra;
  float edge = (corner % 2 == 0 ? -0.5 : 0.5) * width;
  p += n * (form.y * lane + edge);
  // Lines with more load lie on top.
  gl_Position = vec4(p / canvas * vec2(2.0, -2.0), 0.9 - 0.8 * clamp(load, 0.0, 1.0), 1.0);
  // Computed per corner, because there are many more pixels.
  if (fixed_colour.a > 0.0) tint = fixed_colour;
  else if (load < 0.0) tint = vec4(0.80, 0.83, 0.86, 1.0);
  else tint = texture(colours, vec2(clamp(load, 0.002, 0.998), 0.5));
}`;

const DOT = `#version 300 es
layout(location = 0) in vec2 at;
layout(location = 1) in float load;
uniform vec2 canvas, centre;
uniform float zoom, size;
out float shade;
void main() {
  gl_Position = vec4((at - centre) * zoom / canvas * vec2(2.0, -2.0), 0.05 - 0.04 * clamp(load, 0.0, 1.0), 1.0);
  gl_PointSize = size;
  shade = load;
}`;

const LINE_COLOUR = `#version 300 es
precision mediump float;
flat in vec4 tint;
out vec4 colour;
void main() {
  colour = tint;
}`;

const DOT_COLOUR = `#version 300 es
precision highp float;
in float shade;
uniform sampler2D colours;
uniform vec4 fixed_colour;
uniform float round_;
uniform float size;
out vec4 colour;
void main() {
  vec2 from = abs(gl_PointCoord - 0.5) * 2.0;
  float far = mix(max(from.x, from.y), length(from), round_);
  if (far > 1.0) discard;
  float rim = 1.0 - 2.6 / size;
  if (fixed_colour.a > 0.0) colour = fixed_colour;
  else if (far > rim && size > 5.0) colour = vec4(0.34, 0.38, 0.42, 1.0);
  else if (shade < 0.0) colour = vec4(0.93, 0.94, 0.96, 1.0);
  else colour = texture(colours, vec2(clamp(shade, 0.002, 0.998), 0.5));
}`;

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(`WebGL: ${gl.getProgramInfoLog(made)}`);
  const uniforms = {};
  for (let i = 0; i < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(made, i);
    uniforms[name] = gl.getUniformLocation(made, name);
  }
  return { made, uniforms };
}

/** Whether rendering is in software. Smooth edges would then take more than half of the time. */
function drawnBySoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const names = gl?.getExtension("WEBGL_debug_renderer_info");
  const software = names && /swiftshader|llvmpipe|software/i.test(gl.getParameter(names.UNMASKED_RENDERER_WEBGL));
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return Boolean(software);
}

/** A canvas with WebGL2. Throws an error if there is none. */
export class Drawing {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: !drawnBySoftware(), alpha: false });
    if (!gl) throw new Error("This browser has no WebGL2, so the network cannot be drawn. Plots, tables and ranks work without it.");
    this.gl = gl;
    this.line = program(gl, LINE, LINE_COLOUR);
    this.dot = program(gl, DOT, DOT_COLOUR);
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, COLOURS, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, scale(COLOURS));
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.LINEAR);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
  }

  buffer(data, usage = this.gl.STATIC_DRAW) {
    const buffer = this.gl.createBuffer();
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, usage);
    return buffer;
  }

  refill(buffer, data) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.DYNAMIC_DRAW);
  }

  /** Lines: `ends` has four numbers each, `form` bend and lane; the first `straight` are not bent. */
  lines(ends, form, loads, straight) {
    const { gl } = this;
    const made = { ends: gl.createBuffer(), form: gl.createBuffer(), loads: gl.createBuffer() };
    this.setLines(made, ends, form, loads, straight);
    return made;
  }

  setLines(made, ends, form, loads, straight) {
    Object.assign(made, { count: loads.length, straight });
    this.refill(made.ends, corners(ends, 4, made));
    this.refill(made.form, corners(form, 2, made));
    this.setLoads(made, loads);
  }

  setLoads(made, loads) {
    this.refill(made.loads, corners(loads, 1, made));
  }

  removeLines(made) {
    for (const buffer of [made.ends, made.form, made.loads]) this.gl.deleteBuffer(buffer);
  }

  /** Binds the triangles of a number of lines of one kind. */
  bindTriangles(kind, lines) {
    const { gl } = this;
    this.triangles = this.triangles ?? {};
    const known = this.triangles[kind] ?? (this.triangles[kind] = { buffer: gl.createBuffer(), lines: 0 });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, known.buffer);
    const each = CORNERS[kind] - 2;
    if (known.lines < lines) {
      known.lines = Math.max(lines, 2 * known.lines);
      const indices = new Uint32Array(3 * each * known.lines);
      let at = 0;
      for (let line = 0; line < known.lines; line++)
        for (let i = 0; i < each; i++) for (let corner = 0; corner < 3; corner++) indices[at++] = line * CORNERS[kind] + i + corner;
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    }
    return 3 * each * lines;
  }

  dots(at, loads) {
    return { count: at.length / 2, at: this.buffer(at), loads: this.buffer(loads, this.gl.DYNAMIC_DRAW) };
  }

  begin(view) {
    const { gl } = this;
    gl.viewport(0, 0, gl.canvas.width, gl.canvas.height);
    gl.clearColor(1, 1, 1, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.view = view;
  }

  use({ made, uniforms }, colour) {
    const { gl, view } = this;
    gl.useProgram(made);
    gl.uniform2f(uniforms.canvas, gl.canvas.width, gl.canvas.height);
    gl.uniform2f(uniforms.centre, view.x, view.y);
    gl.uniform1f(uniforms.zoom, view.zoom * view.pixels);
    gl.uniform4fv(uniforms.fixed_colour, colour ?? [0, 0, 0, 0]);
  }

  drawLines(lines, { lane = 1, extra = 0, least = 1.2, most = 3.6, colour = null, above = false } = {}) {
    const { gl, view } = this;
    this.use(this.line, colour);
    const { uniforms } = this.line;
    gl.uniform1f(uniforms.lane, LANE * lane * view.pixels);
    gl.uniform1f(uniforms.extra, extra * view.pixels);
    gl.uniform1f(uniforms.least, least * view.pixels);
    gl.uniform1f(uniforms.most, most * view.pixels);
    if (above) gl.depthFunc(gl.ALWAYS);
    const bent = lines.count - lines.straight;
    for (const [kind, count, first, segments] of [["straight", lines.straight, 0, 1], ["bent", bent, CORNERS.straight * lines.straight, PIECES]]) {
      if (count === 0) continue;
      gl.uniform1f(uniforms.segments, segments);
      for (const [place, buffer, size] of [[0, lines.ends, 4], [1, lines.form, 2], [2, lines.loads, 1]]) {
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.enableVertexAttribArray(place);
        gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 4 * size * first);
      }
      gl.drawElements(gl.TRIANGLES, this.bindTriangles(kind, count), gl.UNSIGNED_INT, 0);
    }
    gl.depthFunc(gl.LEQUAL);
  }

  drawDots(dots, { size, round = false, colour = null, above = false }) {
    const { gl, view } = this;
    this.use(this.dot, colour);
    gl.uniform1f(this.dot.uniforms.size, size * view.pixels);
    gl.uniform1f(this.dot.uniforms.round_, round ? 1 : 0);
    if (above) gl.depthFunc(gl.ALWAYS);
    for (const [place, buffer, width] of [[0, dots.at, 2], [1, dots.loads, 1]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, width, gl.FLOAT, false, 0, 0);
    }
    gl.disableVertexAttribArray(2);
    gl.drawArrays(gl.POINTS, 0, dots.count);
    gl.depthFunc(gl.LEQUAL);
  }

  /** Waits until drawing is complete, for measurements. */
  finish() {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }
}

/**
 * Numbers of lines, repeated for each of their corners. (One instance for each line would need no repetition, but
 * instances of a few corners are slow, on processors that draw in software by a factor of ten.)
 */
function corners(numbers, size, { count, straight }) {
  const all = new Float32Array(size * (CORNERS.straight * straight + CORNERS.bent * (count - straight)));
  let at = 0;
  for (let line = 0; line < count; line++) {
    const repeat = line < straight ? CORNERS.straight : CORNERS.bent;
    for (let i = 0; i < repeat; i++) for (let k = 0; k < size; k++) all[at++] = numbers[size * line + k];
  }
  return all;
}

/** Distance in pixels between a line, as `drawLines` draws it, and a point. */
export function lineDistance(ends, form, at, view, lane) {
  const px = (x, y) => [(x - view.x) * view.zoom, (y - view.y) * view.zoom];
  const [a, b] = [px(ends[0], ends[1]), px(ends[2], ends[3])];
  const along = [b[0] - a[0], b[1] - a[1]];
  const length = Math.hypot(...along) || 1;
  const [bend, own] = form;
  // The point is farther away than the line bends.
  const reach = 12 + Math.abs(bend) * length + Math.abs(own * lane * LANE);
  if (at[0] < Math.min(a[0], b[0]) - reach || at[0] > Math.max(a[0], b[0]) + reach) return Infinity;
  if (at[1] < Math.min(a[1], b[1]) - reach || at[1] > Math.max(a[1], b[1]) + reach) return Infinity;
  const c = [(a[0] + b[0]) / 2 - along[1] * bend * 2, (a[1] + b[1]) / 2 + along[0] * bend * 2];
  const steps = bend === 0 ? 1 : PIECES;
  const point = (t) => {
    const of = (i) => (1 - t) * (1 - t) * a[i] + 2 * t * (1 - t) * c[i] + t * t * b[i];
    const slope = (i) => (1 - t) * (c[i] - a[i]) + t * (b[i] - c[i]);
    const norm = Math.hypot(slope(0), slope(1)) || 1;
    const shift = own * lane * LANE;
    return [of(0) - (slope(1) / norm) * shift, of(1) + (slope(0) / norm) * shift];
  };
  let best = Infinity;
  let from = point(0);
  for (let step = 1; step <= steps; step++) {
    const to = point(step / steps);
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const t = Math.max(0, Math.min(1, ((at[0] - from[0]) * dx + (at[1] - from[1]) * dy) / (dx * dx + dy * dy || 1)));
    best = Math.min(best, Math.hypot(from[0] + t * dx - at[0], from[1] + t * dy - at[1]));
    from = to;
  }
  return best;
}
