// The camera that looks at a grid. Lengths are those of a grid whose diagonal is 2 long and whose middle is
// at 0. The third axis points upwards.

export type Point = [number, number, number];

/** Direction, distance and aim of the camera. Angles are in radians. */
export interface Camera {
  /** Angle around the third axis. */
  turn: number;
  /** Angle above the plane of the first two axes. */
  height: number;
  distance: number;
  /** The point in the middle of the picture. */
  aim: Point;
}

export const START: Camera = { turn: -0.9, height: 0.45, distance: 3.1, aim: [0, 0, 0] };

/** The angle of sight from the lower to the upper edge of a picture, radians. */
const SIGHT_ANGLE = 0.7;
const MIN_DISTANCE = 0.05;
const MAX_DISTANCE = 20;
/** Straight from above, there is no direction "up" in the picture. */
const MAX_HEIGHT = Math.PI / 2 - 0.01;

function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

/** The camera after turns around the middle of its picture, radians. */
export function rotated(camera: Camera, turn: number, height: number): Camera {
  return {
    ...camera,
    turn: (camera.turn + turn) % (2 * Math.PI),
    height: clamp(camera.height + height, -MAX_HEIGHT, MAX_HEIGHT),
  };
}

/** The camera nearer by a factor below 1, or farther by one above 1. */
export function zoomed(camera: Camera, factor: number): Camera {
  return { ...camera, distance: clamp(camera.distance * factor, MIN_DISTANCE, MAX_DISTANCE) };
}

/** Directions of the camera: to the right and upwards in its picture, and out of it towards the eye. */
function directions({ turn, height }: Camera): [Point, Point, Point] {
  const [s, c, u, v] = [Math.sin(turn), Math.cos(turn), Math.sin(height), Math.cos(height)];
  return [
    [-s, c, 0],
    [-c * u, -s * u, v],
    [c * v, s * v, u],
  ];
}

/** The camera after its picture was moved to the right and down, in heights of the picture. */
export function moved(camera: Camera, right: number, down: number): Camera {
  const [across, up] = directions(camera);
  const whole = 2 * camera.distance * Math.tan(SIGHT_ANGLE / 2);
  const aim = camera.aim.map((x, i) =>
    clamp(x - whole * (right * across[i]! - down * up[i]!), -2, 2),
  ) as Point;
  return { ...camera, aim };
}

/** Turns of a point into directions of the camera, then its perspective: matrices of WebGL, by columns. */
export interface Matrices {
  view: Float32Array;
  projection: Float32Array;
}

/** The matrices for a picture with `aspect` times as much width as height. */
export function matricesOf(camera: Camera, aspect: number): Matrices {
  const [x, y, z] = directions(camera);
  const along = (axis: Point) => axis[0] * camera.aim[0] + axis[1] * camera.aim[1] + axis[2] * camera.aim[2];
  const view = new Float32Array([
    ...[x[0], y[0], z[0], 0],
    ...[x[1], y[1], z[1], 0],
    ...[x[2], y[2], z[2], 0],
    ...[-along(x), -along(y), -along(z) - camera.distance, 1],
  ]);
  // A narrow picture shows as much from side to side as a wide one from top to bottom.
  const scale = Math.min(aspect, 1) / Math.tan(SIGHT_ANGLE / 2);
  const [near, far] = [Math.max(camera.distance - 4, camera.distance / 50), camera.distance + 4];
  const projection = new Float32Array(16);
  projection[0] = scale / aspect;
  projection[5] = scale;
  projection[10] = (near + far) / (near - far);
  projection[11] = -1;
  projection[14] = (2 * near * far) / (near - far);
  return { view, projection };
}

function product(matrix: Float32Array, [x, y, z, w]: number[]): number[] {
  return [0, 1, 2, 3].map(
    (i) => matrix[i]! * x! + matrix[4 + i]! * y! + matrix[8 + i]! * z! + matrix[12 + i]! * w!,
  );
}

/** The place of a point in the picture: parts of its width and height, from the upper left corner. */
export function placeOf(point: Point, { view, projection }: Matrices): [number, number] {
  const [x, y, , w] = product(projection, product(view, [...point, 1]));
  return [0.5 + x! / w! / 2, 0.5 - y! / w! / 2];
}
