// A surface in the box of its grid, drawn with WebGL 2. The normals of triangles are made where they are drawn,
// so none are sent or stored. A browser may take a drawing's memory away at any time; the scene then makes
// everything again from the mesh that it has kept.

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

export interface Colours {
  /** The side of the surface at which the field is lower, and the other side. */
  front: Colour;
  back: Colour;
  lines: Colour;
}

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
in vec3 place;
out vec4 colour;
void main() {
  vec3 normal = normalize(cross(dFdx(place), dFdy(place)));
  // The light comes from above the left shoulder.
  float light = abs(dot(normal, normalize(vec3(-0.35, 0.5, 0.8))));
  vec3 base = gl_FrontFacing ? front : back;
  colour = vec4(base * (0.35 + 0.65 * light) + vec3(0.12 * pow(light, 24.0)), 1.0);
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
  mesh: WebGLVertexArrayObject;
  box: WebGLVertexArrayObject;
  meshBuffers: [WebGLBuffer, WebGLBuffer];
  boxBuffers: [WebGLBuffer, WebGLBuffer];
}

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

/** An array of vertices with a buffer for their coordinates and one for the order in which they are drawn. */
function vertices(gl: WebGL2RenderingContext): [WebGLVertexArrayObject, [WebGLBuffer, WebGLBuffer]] {
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
  private mesh: Mesh = { positions: new Float32Array(), triangles: new Uint32Array() };
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
    const [mesh, meshBuffers] = vertices(gl);
    const [box, boxBuffers] = vertices(gl);
    this.memory = {
      surface: program(gl, SURFACE),
      lines: program(gl, LINES),
      ...{ mesh, box, meshBuffers, boxBuffers },
    };
    this.show(this.mesh, this.size);
  }

  /** The context is lost: nothing can be drawn until it is restored. */
  lose(): void {
    this.memory = null;
  }

  /** Takes another mesh, in a box of `size` distances of points. */
  show(mesh: Mesh, size: Point): void {
    [this.mesh, this.size] = [mesh, size];
    if (!this.memory) return;
    this.fill(this.memory.mesh, this.memory.meshBuffers, mesh);
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((i) => size.map((x, axis) => (i & (1 << axis) ? x : 0)));
    const box = { positions: new Float32Array(corners), triangles: new Uint32Array(EDGES) };
    this.fill(this.memory.box, this.memory.boxBuffers, box);
  }

  private fill(array: WebGLVertexArrayObject, [places]: [WebGLBuffer, WebGLBuffer], mesh: Mesh): void {
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
    this.use(memory.surface, matrices, [colours.front, colours.back]);
    gl.bindVertexArray(memory.mesh);
    gl.drawElements(gl.TRIANGLES, this.mesh.triangles.length, gl.UNSIGNED_INT, 0);
    this.use(memory.lines, matrices, [colours.lines]);
    gl.bindVertexArray(memory.box);
    gl.drawElements(gl.LINES, EDGES.length, gl.UNSIGNED_INT, 0);
    gl.bindVertexArray(null);
    return matrices;
  }

  private use(program: WebGLProgram, { view, projection }: Matrices, colours: Colour[]): void {
    const gl = this.gl;
    const at = (name: string) => gl.getUniformLocation(program, name);
    gl.useProgram(program);
    gl.uniformMatrix4fv(at("view"), false, view);
    gl.uniformMatrix4fv(at("projection"), false, projection);
    gl.uniform3f(at("middle"), this.size[0] / 2, this.size[1] / 2, this.size[2] / 2);
    gl.uniform1f(at("scale"), this.scale);
    colours.forEach((colour, i) => gl.uniform3f(at(i === 0 ? "front" : "back"), ...colour));
  }
}
