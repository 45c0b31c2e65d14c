// Surfaces in the box of their grid, drawn with WebGL 2. The first is opaque and the others let it through. The
// normals of triangles are made where they are drawn, so none are sent or stored. A browser may take a
// drawing's memory away at any time; the scene then makes everything again from the meshes that it has kept.

import { type Camera, matricesOf, type Matrices, type Point } from "./camera";

/** Triangles on the lattice of a grid. */
export interface Mesh {
  /** Coordinates of vertices, in distances of points, three for each vertex. */
  positions: Float32Array;
  /** Numbers of vertices, three for each triangle. */
  triangles: Uint32Array;
}

/** Red, green and blue, each from 0 to 1. */
export type Colour = [number, number, number];

/** The side of a surface at which the field is lower, and the other side. */
export type Sides = [Colour, Colour];

export interface Colours {
  surfaces: Sides[];
  lines: Colour;
}

/** Opacity of the surfaces after the first. */
const OPACITY = 0.4;

const VERTEX = `#version 300 es
uniform mat4 view, projection;
uniform vec3 middle;
uniform float scale;
in vec3 position;
out vec3 place;
void main() {
  vec4 seen = view * vec4((position - middle) * scale, 1.0);
  place = seen.xyz;
  gl_Position = projection * seen;
}`;

const SURFACE = `#version 300 es
precision highp float;
uniform vec3 front, back;
uniform float opacity;
in vec3 place;
out vec4 colour;
void main() {
  vec3 normal = normalize(cross(dFdx(place), dFdy(place)));
  // The light comes from above the left shoulder.
  float light = abs(dot(normal, normalize(vec3(-0.35, 0.5, 0.8))));
  vec3 base = gl_FrontFacing ? front : back;
  colour = vec4(base * (0.35 + 0.65 * light) + vec3(0.12 * pow(light, 24.0)), opacity);
}`;

const LINES = `#version 300 es
precision highp float;
uniform vec3 front;
out vec4 colour;
void main() { colour = vec4(front, 1.0); }`;

/** The corners at the ends of the twelve edges of a box. */
const EDGES = [0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 3, 4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7];

/** What WebGL has of the scene; lost with its context. */
interface Memory {
  surface: WebGLProgram;
  lines: WebGLProgram;
  meshes: Vertices[];
  box: Vertices;
}

/** An array of vertices with a buffer for their coordinates and one for the order in which they are drawn. */
type Vertices = [WebGLVertexArrayObject, [WebGLBuffer, WebGLBuffer]];

function program(gl: WebGL2RenderingContext, fragment: string): WebGLProgram {
  const made = gl.createProgram()!;
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, fragment],
  ] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.bindAttribLocation(made, 0, "position");
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`this browser cannot draw the surface: ${gl.getProgramInfoLog(made) ?? ""}`);
  }
  return made;
}

function vertices(gl: WebGL2RenderingContext): Vertices {
  const [array, buffers] = [gl.createVertexArray()!, [gl.createBuffer()!, gl.createBuffer()!]] as const;
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffers[0]);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[1]);
  gl.bindVertexArray(null);
  return [array, [...buffers]];
}

export class Scene {
  private memory: Memory | null = null;
  private meshes: Mesh[] = [];
  private size: Point = [1, 1, 1];

  private constructor(private readonly gl: WebGL2RenderingContext) {
    this.restore();
  }

  /** A scene on a canvas; none if the browser has no WebGL 2. */
  static on(canvas: HTMLCanvasElement): Scene | null {
    // The drawing stays to be saved or looked at by tests.
    const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    return gl && new Scene(gl);
  }

  /** Makes programs and buffers, at first and when a context that was lost has come back. */
  restore(): void {
    const gl = this.gl;
    if (gl.isContextLost()) return;
    this.memory = {
      surface: program(gl, SURFACE),
      lines: program(gl, LINES),
      meshes: [],
      box: vertices(gl),
    };
    this.show(this.meshes, this.size);
  }

  /** The context is lost: nothing can be drawn until it is restored. */
  lose(): void {
    this.memory = null;
  }

  /** Takes other meshes, in a box of `size` distances of points. */
  show(meshes: Mesh[], size: Point): void {
    [this.meshes, this.size] = [meshes, size];
    if (!this.memory) return;
    const known = this.memory.meshes;
    while (known.length < meshes.length) known.push(vertices(this.gl));
    for (const [array, buffers] of known.splice(meshes.length)) {
      this.gl.deleteVertexArray(array);
      buffers.forEach((buffer) => this.gl.deleteBuffer(buffer));
    }
    meshes.forEach((mesh, i) => this.fill(known[i]!, mesh));
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((i) => size.map((x, axis) => (i & (1 << axis) ? x : 0)));
    const box = { positions: new Float32Array(corners), triangles: new Uint32Array(EDGES) };
    this.fill(this.memory.box, box);
  }

  private fill([array, [places]]: Vertices, mesh: Mesh): void {
    const gl = this.gl;
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, places);
    gl.bufferData(gl.ARRAY_BUFFER, mesh.positions, gl.STATIC_DRAW);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.triangles, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
  }

  /** The factor from distances of points to lengths of the camera. */
  get scale(): number {
    return 2 / Math.max(Math.hypot(...this.size), 1e-9);
  }

  /** The place of a point of the lattice, in lengths of the camera. */
  placed(point: Point): Point {
    return point.map((x, i) => (x - this.size[i]! / 2) * this.scale) as Point;
  }

  /** Draws the scene, and returns the matrices by which it was drawn; none if the context is lost. */
  draw(camera: Camera, colours: Colours): Matrices | null {
    const [gl, memory] = [this.gl, this.memory];
    if (!memory || gl.isContextLost()) return null;
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const matrices = matricesOf(camera, width / height);
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    this.use(memory.surface, matrices);
    this.drawSurface(0, colours, 1);
    this.use(memory.lines, matrices);
    this.paint(memory.lines, [colours.lines]);
    gl.bindVertexArray(memory.box[0]);
    gl.drawElements(gl.LINES, EDGES.length, gl.UNSIGNED_INT, 0);
    // Behind these surfaces everything stays visible, so they leave the depth as it is.
    this.use(memory.surface, matrices);
    gl.depthMask(false);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    for (let i = 1; i < this.meshes.length; i += 1) this.drawSurface(i, colours, OPACITY);
    gl.disable(gl.BLEND);
    gl.depthMask(true);
    gl.bindVertexArray(null);
    return matrices;
  }

  private drawSurface(i: number, { surfaces }: Colours, opacity: number): void {
    const [gl, memory, mesh, sides] = [this.gl, this.memory, this.meshes[i], surfaces[i]];
    // The meshes may be newer than the colours; a drawing with the colours of all of them follows.
    if (!memory || !mesh || !sides) return;
    this.paint(memory.surface, sides);
    gl.uniform1f(gl.getUniformLocation(memory.surface, "opacity"), opacity);
    gl.bindVertexArray(memory.meshes[i]![0]);
    gl.drawElements(gl.TRIANGLES, mesh.triangles.length, gl.UNSIGNED_INT, 0);
  }

  private use(program: WebGLProgram, { view, projection }: Matrices): void {
    const gl = this.gl;
    const at = (name: string) => gl.getUniformLocation(program, name);
    gl.useProgram(program);
    gl.uniformMatrix4fv(at("view"), false, view);
    gl.uniformMatrix4fv(at("projection"), false, projection);
    gl.uniform3f(at("middle"), this.size[0] / 2, this.size[1] / 2, this.size[2] / 2);
    gl.uniform1f(at("scale"), this.scale);
  }

  private paint(program: WebGLProgram, colours: Colour[]): void {
    const gl = this.gl;
    const at = (name: string) => gl.getUniformLocation(program, name);
    colours.forEach((colour, i) => gl.uniform3f(at(i === 0 ? "front" : "back"), ...colour));
  }
}
