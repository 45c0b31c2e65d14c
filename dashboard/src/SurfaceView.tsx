// The drawing of surfaces in the box of their grid, which mouse, fingers and keys turn, move and zoom. The
// names of the axes and their numbers are text above the drawing.

import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { type Camera, moved, placeOf, type Point, rotated, START, zoomed } from "./camera";
import { type Colour, type Colours, type Mesh, Scene, type Sides } from "./Scene";

const DARK_SCHEME = matchMedia("(prefers-color-scheme: dark)");
/** Turn by a drag from one side of the drawing to the other, and by an arrow key, radians. */
const DRAG_TURN = Math.PI;
const KEY_TURN = 0.15;
const KEY_STEP = 0.1;
/** Factor of the distance to the grid by one press of the key or button. */
const ZOOM_FACTOR = 0.8;
const AXES = ["x", "y", "z"];

/** Colours of the sides of the first surface, and of each further one, by the names of their properties. */
const FIRST_COLOURS: [string, string] = ["--computing", "--waiting"];
const MORE_COLOURS = ["--send", "--receive", "--failed", "--quiet"];

/** A canvas with the meshes that it shows, for programs that look at the page. */
type SurfaceCanvas = HTMLCanvasElement & { meshes?: Mesh[] };

interface Props {
  meshes: Mesh[];
  /** The length of each axis, in distances of points. */
  size: Point;
  /** The drawing in words. */
  label: string;
}

/** The colour of a property such as `--ink`, which is written `#rgb` or `#rrggbb`. */
function colourOf(style: CSSStyleDeclaration, name: string): Colour {
  const hex = style.getPropertyValue(name).trim().slice(1);
  const wide = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  return [0, 2, 4].map((at) => parseInt(wide.slice(at, at + 2), 16) / 255) as Colour;
}

/** The names of the colours of a surface's sides: of the side at which the field is lower, and of the other. */
export function sidesOf(surface: number): [string, string] {
  if (surface === 0) return FIRST_COLOURS;
  const name = MORE_COLOURS[(surface - 1) % MORE_COLOURS.length]!;
  return [name, name];
}

function coloursOf(canvas: HTMLCanvasElement, meshes: Mesh[]): Colours {
  const style = getComputedStyle(canvas);
  const surfaces = meshes.map((_, i) => sidesOf(i).map((name) => colourOf(style, name)) as Sides);
  return { surfaces, lines: colourOf(style, "--quiet") };
}

/** The places of the axes' labels: at the edges of the box that are lowest, or farthest to the left. */
function placeLabels(labels: HTMLElement[], at: (point: Point) => [number, number], size: Point): void {
  labels.forEach((label, axis) => {
    const [one, other] = [0, 1, 2].filter((i) => i !== axis) as [number, number];
    const middles = [0, 1, 2, 3].map((corner) => {
      const point: Point = [0, 0, 0];
      point[axis] = size[axis]! / 2;
      point[one] = corner & 1 ? size[one]! : 0;
      point[other] = corner & 2 ? size[other]! : 0;
      return at(point);
    });
    const rank = ([x, y]: [number, number]) => (axis === 2 ? -x : y);
    const [x, y] = middles.reduce((best, place) => (rank(place) > rank(best) ? place : best));
    label.style.left = `${(100 * Math.min(Math.max(x, 0), 1)).toFixed(2)}%`;
    label.style.top = `${(100 * Math.min(Math.max(y, 0), 1)).toFixed(2)}%`;
  });
}

/** Fingers and buttons on the drawing: one turns it, two zoom and move it. */
class Gestures {
  private fingers = new Map<number, [number, number]>();

  constructor(private readonly change: (of: (camera: Camera) => Camera) => void) {}

  press(event: PointerEvent): void {
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
  }

  lift(event: PointerEvent): void {
    this.fingers.delete(event.pointerId);
  }

  drag(event: PointerEvent): void {
    const last = this.fingers.get(event.pointerId);
    if (!last) return;
    const now: [number, number] = [event.clientX, event.clientY];
    this.fingers.set(event.pointerId, now);
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const [right, down] = [now[0] - last[0], now[1] - last[1]];
    const [other] = [...this.fingers].filter(([id]) => id !== event.pointerId);
    if (other) {
      const apart = ([x, y]: [number, number]) => Math.max(Math.hypot(x - other[1][0], y - other[1][1]), 10);
      const factor = apart(last) / apart(now);
      this.change((camera) => moved(zoomed(camera, factor), right / 2 / box.height, down / 2 / box.height));
    } else if (event.buttons > 1 || event.shiftKey) {
      this.change((camera) => moved(camera, right / box.height, down / box.height));
    } else {
      const unit = DRAG_TURN / box.width;
      this.change((camera) => rotated(camera, -right * unit, down * unit));
    }
  }
}

/** The step of a key; none for other keys. */
function stepOf(event: KeyboardEvent): ((camera: Camera) => Camera) | undefined {
  const arrows: Record<string, [number, number]> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
  const arrow = arrows[event.key];
  if (arrow && event.shiftKey) return (camera) => moved(camera, arrow[0] * KEY_STEP, arrow[1] * KEY_STEP);
  if (arrow) return (camera) => rotated(camera, -arrow[0] * KEY_TURN, arrow[1] * KEY_TURN);
  if (event.key === "+" || event.key === "=") return (camera) => zoomed(camera, ZOOM_FACTOR);
  if (event.key === "-") return (camera) => zoomed(camera, 1 / ZOOM_FACTOR);
  return event.key === "0" ? () => START : undefined;
}

export function SurfaceView({ meshes, size, label }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const scene = useRef<Scene | null>(null);
  const [fault, setFault] = useState("");
  const [camera, change] = useReducer((now: Camera, of: (camera: Camera) => Camera) => of(now), START);
  const [looks, again] = useReducer((n: number) => n + 1, 0);
  const gestures = useRef(new Gestures(change));
  const canvas = () => place.current!.querySelector<SurfaceCanvas>("canvas")!;
  useEffect(() => {
    const on = canvas();
    try {
      scene.current = Scene.on(on);
      setFault(scene.current ? "" : "This browser has no WebGL 2, by which surfaces are drawn.");
    } catch (error) {
      setFault(String((error as Error).message));
    }
    const lost = (event: Event) => {
      // Without this call, the browser does not restore the context.
      event.preventDefault();
      scene.current?.lose();
      setFault("The browser has taken the drawing's memory away; the drawing comes back by itself.");
    };
    const back = () => {
      scene.current?.restore();
      setFault("");
      again(0);
    };
    const wheel = (event: WheelEvent) => {
      // Without a key, the wheel scrolls the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      change((camera) => zoomed(camera, event.deltaY > 0 ? 1.15 : 0.87));
    };
    const resize = () => {
      const fine = Math.min(window.devicePixelRatio || 1, 2);
      on.width = Math.max(Math.round(on.clientWidth * fine), 1);
      on.height = Math.max(Math.round(on.clientHeight * fine), 1);
      again(0);
    };
    const sizes = new ResizeObserver(resize);
    sizes.observe(on);
    DARK_SCHEME.addEventListener("change", again);
    on.addEventListener("webglcontextlost", lost);
    on.addEventListener("webglcontextrestored", back);
    on.addEventListener("wheel", wheel, { passive: false });
    return () => {
      sizes.disconnect();
      DARK_SCHEME.removeEventListener("change", again);
    };
  }, []);
  useEffect(() => {
    scene.current?.show(meshes, size);
    again(0);
  }, [meshes, ...size]);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const labels = [...place.current!.querySelectorAll<HTMLElement>(".axis-label")];
      const matrices = scene.current?.draw(camera, coloursOf(canvas(), meshes));
      if (!matrices) return;
      placeLabels(labels, (point) => placeOf(scene.current!.placed(point), matrices), size);
      canvas().meshes = meshes;
    });
    return () => cancelAnimationFrame(frame);
  }, [camera, looks]);
  const press = (event: KeyboardEvent) => {
    const step = stepOf(event);
    if (!step || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    change(step);
  };
  return (
    <>
      {fault && <p role="status">{fault}</p>}
      <div class="surface" ref={place}>
        <canvas
          tabindex={0}
          role="img"
          aria-label={`${label} Arrow keys turn it, with Shift they move it; plus and minus zoom; 0 shows all.`}
          onKeyDown={press}
          onPointerDown={(event) => gestures.current.press(event)}
          onPointerMove={(event) => gestures.current.drag(event)}
          onPointerUp={(event) => gestures.current.lift(event)}
          onPointerCancel={(event) => gestures.current.lift(event)}
          onContextMenu={(event) => event.preventDefault()}
        />
        {AXES.map((name, axis) => (
          <span key={name} class="axis-label" aria-hidden="true">
            {name}: 0 … {size[axis]}
          </span>
        ))}
        <div class="buttons" role="group" aria-label="Direction and zoom">
          <button type="button" aria-label="Nearer" onClick={() => change((now) => zoomed(now, ZOOM_FACTOR))}>
            +
          </button>
          <button
            type="button"
            aria-label="Farther"
            onClick={() => change((now) => zoomed(now, 1 / ZOOM_FACTOR))}
          >
            −
          </button>
          <button type="button" onClick={() => change(() => START)}>
            Whole
          </button>
        </div>
      </div>
    </>
  );
}
