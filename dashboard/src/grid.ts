// Pictures of a grid: the surfaces at which a field has some levels, as the server pushes them. An answer is a
// line of JSON and the bytes of the grid's blocks. The request for the next picture says that the last one has
// come, so no pictures wait for a slow browser.

import type { Mesh } from "./Scene";
import { fetched, type Instance } from "./state";
import { headerOf, surfaceOf } from "./surface";
import type { GridRecord, SurfaceAnswer, SurfacePicture } from "./wire";

/** A request for surfaces. */
export interface SurfaceQuery {
  grid: string;
  /** Number of the grid's points along each axis. */
  shape: number[];
  field: string;
  levels: number[];
}

/** A picture with its triangles, and the properties of the data from which it was made. */
export interface GridPicture extends SurfacePicture {
  /** The levels, and the surface at each. */
  levels: number[];
  meshes: Mesh[];
  /** Number of the grid's blocks. */
  blocks: number;
  /** The smallest and the largest number of the field; none if all are NaN. */
  range: [number, number] | null;
  nanPoints: number;
  /** Size of the picture as it was sent, bytes. */
  bytes: number;
}

/** An answer without or with a picture. */
export interface GridAnswer extends Omit<SurfaceAnswer, "picture"> {
  picture?: GridPicture;
}

/** The levels in a text, which has blanks or commas between them; none if one of them is no number. */
export function levelsOf(text: string): number[] | null {
  const numbers = text.split(/[\s,;]+/).filter((word) => word !== "").map(Number);
  return numbers.length > 0 && numbers.every(Number.isFinite) ? [...new Set(numbers)] : null;
}

function pictureOf(told: SurfacePicture, body: Uint8Array, { levels, shape }: SurfaceQuery): GridPicture {
  const blocks: Uint8Array[] = [];
  let at = 0;
  for (const length of told.block_bytes) blocks.push(body.subarray(at, (at += length)));
  const each = blocks.length / levels.length;
  if (at !== body.length || !Number.isInteger(each)) throw new Error("a picture has come in part");
  const surfaces = levels.map((_, i) => blocks.slice(i * each, (i + 1) * each));
  const made = surfaces.map((surface) => surfaceOf(surface, shape));
  let [low, high] = [Infinity, -Infinity];
  for (const { least, greatest } of blocks.map(headerOf)) {
    // A block of NaN has no smallest number; comparisons with NaN leave it out.
    if (least < low) low = least;
    if (greatest > high) high = greatest;
  }
  return {
    ...told,
    levels: surfaces.map(([first], i) => (first ? headerOf(first).level : levels[i]!)),
    meshes: made.map(({ mesh }) => mesh),
    nanPoints: made[0]!.nanPoints,
    blocks: each,
    range: low <= high ? [low, high] : null,
    bytes: body.length,
  };
}

/** The next picture after `has`. */
export async function nextPicture(query: SurfaceQuery, has: number, stop: AbortSignal): Promise<GridAnswer> {
  const asked = new URLSearchParams({
    grid: query.grid,
    field: query.field,
    level: String(query.levels),
    has: String(has),
  });
  const answer = await fetched(`api/surface?${asked}`, stop);
  const all = new Uint8Array(await answer.arrayBuffer());
  const line = all.indexOf(10) < 0 ? all.length : all.indexOf(10);
  const told = JSON.parse(new TextDecoder().decode(all.subarray(0, line))) as SurfaceAnswer;
  // The request makes no sense, and repeating it would not help. Other errors, such as a session that is over,
  // can be mended.
  if (!answer.ok) return { frame: has, why: told.why ?? answer.statusText, over: answer.status === 400 };
  const { picture, ...head } = told;
  return picture ? { ...head, picture: pictureOf(picture, all.subarray(line + 1), query) } : head;
}

/** The fields that a grid publishes: those of its first block. */
export function fieldsOf(grid: GridRecord, instances: Instance[]): string[] {
  // A block is an instance or one of its ranks, such as `wave[0][1]` or `wave:1`.
  const [name] = (grid.names[0] ?? grid.component).split(":");
  return instances.find((one) => one.name === name)?.publishes ?? [];
}
