// Surfaces from the bytes of blocks, as the crate `surface` encodes them (its format 1): sign bits of points
// near the surface, and for each edge of the lattice that the surface crosses a byte that says where. Planes
// are read one after the other, so memory beside the mesh holds two planes of bits.

import type { Mesh } from "./Scene";
import { CASES } from "./surface-table";

const HEADER_BYTES = 72;
/** The format's name, as a number: "LSF1". */
const NAME = 0x3146534c;
/** Maximum number of points of a plane. */
const MAX_PLANE = 2 ** 28;

/** The edges of each case's triangles: 16 places for each case. `COUNTS` says how many of them are used. */
const EDGES = new Uint8Array(256 * 16);
const COUNTS = new Uint8Array(256);
CASES.forEach((digits, at) => {
  COUNTS[at] = digits.length;
  [...digits].forEach((digit, i) => (EDGES[16 * at + i] = parseInt(digit, 16)));
});

/** The properties of a block's surface before its triangles are made. */
export interface BlockHeader {
  /** The axes of rows, columns and planes: a permutation of 0, 1, 2. */
  axes: [number, number, number];
  firstSign: boolean;
  /** First point, and number of points, along x, y and z. */
  origin: [number, number, number];
  points: [number, number, number];
  level: number;
  /** The smallest and the largest number of the block's points; NaN if all points are NaN. */
  least: number;
  greatest: number;
  nanPoints: number;
  edges: number;
  signBytes: number;
}

function wrong(what: string): Error {
  return new Error(`the bytes of a surface are damaged: ${what}`);
}

/** Reads the header of a block. */
export function headerOf(bytes: Uint8Array): BlockHeader {
  if (bytes.length < HEADER_BYTES) throw wrong(`${bytes.length} bytes are no header`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== NAME) throw wrong("they have another format");
  const three = (one: (i: number) => number): [number, number, number] => [one(0), one(1), one(2)];
  const header: BlockHeader = {
    axes: three((i) => view.getUint8(4 + i)),
    firstSign: view.getUint8(7) === 1,
    origin: three((i) => view.getUint32(8 + 4 * i, true)),
    points: three((i) => view.getUint32(20 + 4 * i, true)),
    level: view.getFloat64(32, true),
    least: view.getFloat64(40, true),
    greatest: view.getFloat64(48, true),
    nanPoints: Number(view.getBigUint64(56, true)),
    edges: view.getUint32(64, true),
    signBytes: view.getUint32(68, true),
  };
  if ([...header.axes].sort().join() !== "0,1,2") throw wrong("its axes are none");
  const [row, column] = header.axes.map((axis) => header.points[axis]!);
  if (header.points.includes(0) || row! * column! > MAX_PLANE) throw wrong("its size is none");
  if (bytes.length !== HEADER_BYTES + header.signBytes + header.edges) throw wrong("they are cut off");
  return header;
}

/** A plane of bits: a byte has eight points of a row. */
interface Plane {
  sign: Uint8Array;
  nan: Uint8Array;
  /** For each row, the number of its first edge along the row, to the next row, and to the next plane. */
  first: [Int32Array, Int32Array, Int32Array];
}

/** Numbers in an array that grows. */
class Numbers {
  items = new Uint32Array(1 << 12);
  length = 0;

  /** Makes room for so many more numbers. */
  reserve(more: number): void {
    if (this.length + more <= this.items.length) return;
    const items = new Uint32Array(2 * this.items.length + more);
    items.set(this.items);
    this.items = items;
  }
}

/** The mesh that grows block by block. */
interface MeshParts {
  positions: Float32Array;
  triangles: Numbers;
  /** The number of the block's first vertex. */
  firstVertex: number;
}

/** Makes the triangles of one block. */
class BlockReader {
  private readonly rowBytes: number;
  /** Points of a row, rows of a plane, and planes. */
  private readonly n: [number, number, number];
  /** Number of the block's own points that are NaN. */
  nanPoints = 0;
  private at = HEADER_BYTES;
  private edge = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly header: BlockHeader,
    private readonly mesh: MeshParts,
    /** True if the last layer along x, y and z belongs to another block. */
    private readonly isShared: boolean[],
  ) {
    this.n = header.axes.map((axis) => header.points[axis]!) as [number, number, number];
    this.rowBytes = Math.ceil(this.n[0] / 8);
  }

  read(): void {
    let [before, now] = [this.emptyPlane(), this.emptyPlane()];
    if (this.header.firstSign) this.fill(now.sign);
    for (let k = 0; k < this.n[2]; k += 1) {
      [before, now] = [now, before];
      this.readPlane(before, now);
      if (this.header.nanPoints > 0 && k < this.own(2)) this.countNan(now);
      if (k > 0) this.crossPlanes(before, now, k - 1);
      this.crossRows(now, k);
      if (k > 0) this.join(before, now);
    }
    const signEnd = HEADER_BYTES + this.header.signBytes;
    if (this.at !== signEnd || this.edge !== this.header.edges) throw wrong("its parts do not fit together");
  }

  /** The number of the block's own points of a row, rows of a plane, or planes. */
  private own(along: number): number {
    return this.n[along]! - (this.isShared[this.header.axes[along]!] ? 1 : 0);
  }

  private countNan({ nan }: Plane): void {
    const [points, rows] = [this.own(0), this.own(1)];
    for (let j = 0; j < rows; j += 1) {
      for (let i = 0; i < points; i += 1) this.nanPoints += (nan[j * this.rowBytes + (i >> 3)]! >> (i & 7)) & 1;
    }
  }

  private emptyPlane(): Plane {
    const [size, rows] = [this.rowBytes * this.n[1], this.n[1]];
    return {
      sign: new Uint8Array(size),
      nan: new Uint8Array(size),
      first: [new Int32Array(rows), new Int32Array(rows), new Int32Array(rows)],
    };
  }

  /** Sets all bits that belong to points. */
  private fill(bits: Uint8Array): void {
    bits.fill(255);
    const rest = this.n[0] % 8;
    if (rest === 0) return;
    for (let j = 1; j <= this.n[1]; j += 1) bits[j * this.rowBytes - 1] = (1 << rest) - 1;
  }

  private byte(): number {
    if (this.at >= HEADER_BYTES + this.header.signBytes) throw wrong("sign bits are missing");
    return this.bytes[this.at++]!;
  }

  /** Reads a plane, which is stored as the difference from the plane before. */
  private readPlane(before: Plane, plane: Plane): void {
    const kind = this.byte();
    plane.sign.set(before.sign);
    plane.nan.set(before.nan);
    if (kind & 1) this.change(plane.sign);
    if (kind & 2) this.change(plane.nan);
  }

  private change(bits: Uint8Array): void {
    const [rows, masks] = [Math.ceil(this.n[1] / 8), Math.ceil(this.rowBytes / 8)];
    const rowsAt = this.at;
    this.at += rows;
    for (let j = 0; j < this.n[1]; j += 1) {
      if (!(this.bytes[rowsAt + (j >> 3)]! & (1 << (j & 7)))) continue;
      const maskAt = this.at;
      this.at += masks;
      for (let b = 0; b < this.rowBytes; b += 1) {
        if (this.bytes[maskAt + (b >> 3)]! & (1 << (b & 7))) bits[j * this.rowBytes + b]! ^= this.byte();
      }
    }
  }

  /** Makes the vertices on the edges from a plane to the next one. */
  private crossPlanes(plane: Plane, next: Plane, k: number): void {
    for (let j = 0; j < this.n[1]; j += 1) {
      const row = j * this.rowBytes;
      plane.first[2][j] = this.edge;
      this.crossTo(plane, next, [row, row], [j, k], 2);
    }
  }

  /** Makes the vertices on the edges within a plane. */
  private crossRows(plane: Plane, k: number): void {
    const [wide, rows] = [this.rowBytes, this.n[1]];
    for (let j = 0; j < rows; j += 1) {
      const row = j * wide;
      plane.first[0][j] = this.edge;
      this.crossAlong(plane, row, [j, k]);
      plane.first[1][j] = this.edge;
      if (j + 1 < rows) this.crossTo(plane, plane, [row, row + wide], [j, k], 1);
    }
  }

  /** Makes the vertices on the edges along a row. */
  private crossAlong({ sign, nan }: Plane, row: number, [j, k]: [number, number]): void {
    for (let b = 0; b < this.rowBytes; b += 1) {
      const isLast = b + 1 === this.rowBytes;
      const shifted = (bits: Uint8Array) =>
        (bits[row + b]! >> 1) | (isLast ? 0 : (bits[row + b + 1]! & 1) << 7);
      let crossed = (sign[row + b]! ^ shifted(sign)) & ~(nan[row + b]! | shifted(nan));
      // The last point of a row has no neighbour.
      if (isLast) crossed &= (1 << ((this.n[0] - 1) & 7)) - 1;
      if (crossed) this.vertices(crossed, [8 * b, j, k], 0);
    }
  }

  /** Makes the vertices between a row and one beside it. */
  private crossTo(
    one: Plane,
    other: Plane,
    [from, to]: [number, number],
    [j, k]: [number, number],
    along: number,
  ): void {
    for (let b = 0; b < this.rowBytes; b += 1) {
      const differ = one.sign[from + b]! ^ other.sign[to + b]!;
      if (differ === 0) continue;
      const crossed = differ & ~(one.nan[from + b]! | other.nan[to + b]!);
      if (crossed) this.vertices(crossed, [8 * b, j, k], along);
    }
  }

  private vertices(crossed: number, [i, j, k]: [number, number, number], along: number): void {
    const { axes, origin } = this.header;
    const { positions, firstVertex } = this.mesh;
    const fractions = HEADER_BYTES + this.header.signBytes;
    for (let bit = 0; bit < 8; bit += 1) {
      if (!(crossed & (1 << bit))) continue;
      if (this.edge >= this.header.edges) throw wrong("crossed edges are missing");
      const fraction = (this.bytes[fractions + this.edge]! + 0.5) / 256;
      const to = 3 * (firstVertex + this.edge);
      positions[to + axes[0]] = origin[axes[0]]! + i + bit + (along === 0 ? fraction : 0);
      positions[to + axes[1]] = origin[axes[1]]! + j + (along === 1 ? fraction : 0);
      positions[to + axes[2]] = origin[axes[2]]! + k + (along === 2 ? fraction : 0);
      this.edge += 1;
    }
  }

  /** Makes the triangles in the cells between two planes. */
  private join(low: Plane, high: Plane): void {
    const wide = this.rowBytes;
    for (let j = 0; j + 1 < this.n[1]; j += 1) {
      const [row, other] = [j * wide, (j + 1) * wide];
      const cells = new CellRow(low, high, j, wide);
      for (let b = 0; b < wide; b += 1) {
        const [p, q] = [row + b, other + b];
        const [s, t, u, v] = [low.sign[p]!, low.sign[q]!, high.sign[p]!, high.sign[q]!];
        const all = s | t | u | v | (b + 1 < wide ? cells.nextBits(b) : 0);
        if (all === 0) continue;
        if ((s & t & u & v) === 255 && b + 1 < wide && cells.nextSum(b) === 4) continue;
        const end = Math.min(8 * b + 8, this.n[0] - 1);
        for (let i = 8 * b; i < end; i += 1) this.cell(cells, i);
      }
    }
  }

  private cell(cells: CellRow, i: number): void {
    const corners = cells.corners(i);
    if (corners === 0 || corners === 255) return;
    const nan = cells.nanCorners(i);
    const edges = cells.edges(corners, nan);
    if (nan !== 0) return;
    const [count, from] = [COUNTS[corners]!, 16 * corners];
    const { triangles, firstVertex } = this.mesh;
    triangles.reserve(count);
    const { items } = triangles;
    for (let corner = 0; corner < count; corner += 1) {
      items[triangles.length++] = firstVertex + edges[EDGES[from + corner]!]!;
    }
  }
}

/** The corners of each edge of a cell, as bits: a vertex is on the edge if one of them is above the level. */
const EDGE_CORNERS = Array.from({ length: 12 }, (_, e) => {
  const along = e >> 2;
  const [one, other] = [0, 1, 2].filter((axis) => axis !== along) as [number, number];
  const low = ((e & 1) << one) | (((e >> 1) & 1) << other);
  return [1 << low, 1 << (low | (1 << along))] as const;
});

/** A row of cells between two planes, with the numbers of the next edges along it. */
class CellRow {
  /** Numbers of the next edges: along the four rows, to the next row in both planes, to the next plane. */
  private readonly next: [number, number, number, number, number, number, number, number];
  private readonly found = new Int32Array(12);

  constructor(
    private readonly low: Plane,
    private readonly high: Plane,
    private readonly j: number,
    private readonly wide: number,
  ) {
    const [a, b] = [low.first, high.first];
    this.next = [
      ...[a[0][j]!, a[0][j + 1]!, b[0][j]!, b[0][j + 1]!],
      ...[a[1][j]!, b[1][j]!, a[2][j]!, a[2][j + 1]!],
    ] as CellRow["next"];
  }

  private bit(bits: Uint8Array, row: number, i: number): number {
    return (bits[row * this.wide + (i >> 3)]! >> (i & 7)) & 1;
  }

  /** Number of the four points just behind a byte that are above the level. */
  nextSum(b: number): number {
    const { low, high, j } = this;
    const i = 8 * b + 8;
    const two = ({ sign }: Plane) => this.bit(sign, j, i) + this.bit(sign, j + 1, i);
    return two(low) + two(high);
  }

  nextBits(b: number): number {
    return this.nextSum(b) > 0 ? 1 : 0;
  }

  private eight(low: Uint8Array, high: Uint8Array, i: number): number {
    const four = (bits: Uint8Array) =>
      this.bit(bits, this.j, i) |
      (this.bit(bits, this.j, i + 1) << 1) |
      (this.bit(bits, this.j + 1, i) << 2) |
      (this.bit(bits, this.j + 1, i + 1) << 3);
    return four(low) | (four(high) << 4);
  }

  /** Bits of the corners that are above the level. */
  corners(i: number): number {
    return this.eight(this.low.sign, this.high.sign, i);
  }

  /** Bits of the corners that are NaN. */
  nanCorners(i: number): number {
    return this.eight(this.low.nan, this.high.nan, i);
  }

  /** The vertices on the twelve edges of the next cell, as numbers of the block's crossed edges. */
  edges(corners: number, nan: number): Int32Array {
    const [next, found] = [this.next, this.found];
    const crossed = (e: number) => {
      const [one, other] = EDGE_CORNERS[e]!;
      return !(nan & (one | other)) && !(corners & one) !== !(corners & other) ? 1 : 0;
    };
    for (let e = 0; e < 4; e += 1) {
      found[e] = next[e]!;
      next[e]! += crossed(e);
    }
    // Pairs of edges that a cell shares with the next one along the row.
    for (let pair = 0; pair < 4; pair += 1) {
      const e = 4 + 2 * pair;
      found[e] = next[4 + pair]!;
      next[4 + pair]! += crossed(e);
      found[e + 1] = next[4 + pair]!;
    }
    return found;
  }
}

/** Turns the triangles from a number on, so that they show the same side to lower numbers. */
function turnAround(triangles: Numbers, from: number): void {
  for (let at = from; at < triangles.length; at += 3) {
    const second = triangles.items[at + 1]!;
    triangles.items[at + 1] = triangles.items[at + 2]!;
    triangles.items[at + 2] = second;
  }
}

/** True if the last layers of a block are those of its upper neighbours; the grid has `shape` points. */
function sharedLayers(block: BlockHeader, all: BlockHeader[], shape: number[]): boolean[] {
  return block.points.map((points, axis) => {
    const [first, last] = [block.origin[axis]!, block.origin[axis]! + points - 1];
    // Beyond a periodic edge lies the layer of the first points.
    return last > first && (last >= shape[axis]! || all.some(({ origin }) => origin[axis] === last));
  });
}

/** The surface of a grid. Coordinates are those of points of the grid. */
export interface GridSurface {
  mesh: Mesh;
  /** Number of points of the grid that are NaN. */
  nanPoints: number;
}

/** The surface of a grid with `shape` points, from the bytes of its blocks. */
export function surfaceOf(blocks: Uint8Array[], shape: number[]): GridSurface {
  const headers = blocks.map(headerOf);
  const vertices = headers.reduce((all, { edges }) => all + edges, 0);
  const positions = new Float32Array(3 * vertices);
  const triangles = new Numbers();
  let [first, nanPoints] = [0, 0];
  blocks.forEach((bytes, at) => {
    const [header, before] = [headers[at]!, triangles.length];
    const isShared = sharedLayers(header, headers, shape);
    const reader = new BlockReader(bytes, header, { positions, triangles, firstVertex: first }, isShared);
    reader.read();
    nanPoints += reader.nanPoints;
    const [row, column, plane] = header.axes;
    const isEven = (column - row + 3) % 3 === 1 && (plane - column + 3) % 3 === 1;
    if (!isEven) turnAround(triangles, before);
    first += header.edges;
  });
  return { mesh: { positions, triangles: triangles.items.slice(0, triangles.length) }, nanPoints };
}
