// The panel of the model: zoom, and the visible part of the drawing.

import { useEffect, useRef, useState } from "preact/hooks";
import type { PanelProps } from "./App";
import { type Box, Drawing, type Plan } from "./Drawing";
import { ask } from "./state";

/** Minimum width of the drawing, in its units: a smaller model is not enlarged further. */
const MIN_WIDTH = 900;

/**
 * Scale, in pixels for each unit of the drawing, below which a box is a dot. The view of a model that would be
 * smaller begins near its first box, at this width.
 */
const DOT_SCALE = 0.02;
const FIRST_VIEW_WIDTH = 3000;
/** Scale from which on words can be read on a phone. The view of a wider model begins with its first boxes. */
const PHONE_WIDTH_PX = 600;
const PHONE_SCALE = 0.7;

/** The answer to a question that was sent before there was a panel to show it. */
let early: Promise<Plan | null> | null = null;

/** Asks for the layout of the model, which takes the server some time. */
export function askEarly(): void {
  early = ask<Plan>("api/plan").catch(() => null);
}

/** Returns the plan. Asks for it again if the server had none at the early question. */
async function planned(): Promise<Plan> {
  const plan = await early;
  return plan && plan.nodes.length > 0 ? plan : ask<Plan>("api/plan");
}

/** `drawn` is called when the model is drawn, or cannot be drawn. */
export function Model({ drawn, ...shared }: PanelProps & { drawn: () => void }) {
  const [plan, setPlan] = useState<Plan | null>(null);
  const [view, setView] = useState<Box | null>(null);
  // The first size is an estimate: a question to the browser would make it lay out the whole page.
  const [room, setRoom] = useState({ width: innerWidth, height: innerHeight * 0.62 });
  const drawing = useRef<SVGSVGElement>(null);
  /** The positions of the fingers that touch the picture. */
  const fingers = useRef(new Map<number, [number, number]>());
  useEffect(() => {
    planned().then(setPlan, (error: Error) => setPlan({ nodes: [], links: [], why: error.message }));
  }, []);
  useEffect(() => {
    if (!plan) return;
    drawn();
    if (!drawing.current) return;
    const watcher = new ResizeObserver(([found]) => setRoom(found!.contentRect));
    watcher.observe(drawing.current);
    return () => watcher.disconnect();
  }, [plan]);
  const width = Math.max(plan?.width ?? 1, MIN_WIDTH);
  const whole: Box = { x: ((plan?.width ?? width) - width) / 2, y: 0, width, height: plan?.height ?? 1 };
  const first = plan?.nodes[0];
  const begin =
    first && room.width / width < DOT_SCALE
      ? { x: first.x - MIN_WIDTH / 4, y: first.y - MIN_WIDTH / 4, width: FIRST_VIEW_WIDTH, height: MIN_WIDTH }
      : whole;
  const isCramped = first && room.width <= PHONE_WIDTH_PX && room.width / (plan?.width ?? 1) < PHONE_SCALE;
  const seen =
    view ??
    (isCramped && begin === whole ? { ...whole, x: first.x - 8, width: room.width / PHONE_SCALE } : begin);

  /** Moves and zooms the visible part; `by` < 1 is nearer. */
  function zoom(by: number, x = 0.5, y = 0.5) {
    const width = Math.min(Math.max(seen.width * by, 120), whole.width * 2);
    const height = (width / seen.width) * seen.height;
    setView({ x: seen.x + (seen.width - width) * x, y: seen.y + (seen.height - height) * y, width, height });
  }
  function move(dx: number, dy: number) {
    setView({ ...seen, x: seen.x + dx * seen.width, y: seen.y + dy * seen.height });
  }
  /** Two fingers move and zoom the picture; one moves the page. */
  function pinch(svg: SVGSVGElement, event: PointerEvent) {
    const last = fingers.current.get(event.pointerId);
    const [other] = [...fingers.current].filter(([id]) => id !== event.pointerId);
    if (!last || !other) return;
    const [x, y] = [event.clientX, event.clientY];
    fingers.current.set(event.pointerId, [x, y]);
    const apart = ([a, b]: [number, number]) => Math.max(Math.hypot(a - other[1][0], b - other[1][1]), 10);
    const box = svg.getBoundingClientRect();
    const by = apart(last) / apart([x, y]);
    const scale = seen.width / svg.clientWidth;
    const [width, height] = [seen.width * by, seen.height * by];
    const middle = [
      ((x + other[1][0]) / 2 - box.left) / box.width,
      ((y + other[1][1]) / 2 - box.top) / box.height,
    ] as const;
    setView({
      x: seen.x + (seen.width - width) * middle[0] - ((x - last[0]) / 2) * scale,
      y: seen.y + (seen.height - height) * middle[1] - ((y - last[1]) / 2) * scale,
      width,
      height,
    });
  }
  function touches(event: PointerEvent) {
    if (event.pointerType === "touch") fingers.current.set(event.pointerId, [event.clientX, event.clientY]);
  }
  const lifts = (event: PointerEvent) => void fingers.current.delete(event.pointerId);
  function drag(event: PointerEvent) {
    const svg = drawing.current;
    if (svg && event.pointerType === "touch") return pinch(svg, event);
    if (!svg || event.buttons !== 1) return;
    const scale = seen.width / svg.clientWidth;
    if (event.movementX || event.movementY) {
      setView({ ...seen, x: seen.x - event.movementX * scale, y: seen.y - event.movementY * scale });
    }
  }
  function press(event: KeyboardEvent) {
    const steps: Record<string, () => void> = {
      "+": () => zoom(0.8),
      "=": () => zoom(0.8),
      "-": () => zoom(1.25),
      "0": () => setView(whole),
      ArrowLeft: () => move(-0.1, 0),
      ArrowRight: () => move(0.1, 0),
      ArrowUp: () => move(0, -0.1),
      ArrowDown: () => move(0, 0.1),
    };
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    step();
  }
  useEffect(() => {
    const svg = drawing.current;
    if (!svg) return;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      zoom(
        event.deltaY > 0 ? 1.15 : 0.87,
        (event.clientX - box.left) / box.width,
        (event.clientY - box.top) / box.height,
      );
    };
    svg.addEventListener("wheel", wheel, { passive: false });
    return () => svg.removeEventListener("wheel", wheel);
  });

  const scale = Math.min(room.width / seen.width, room.height / seen.height);
  // The part that was asked for is put in the middle, where more of its surroundings can be seen.
  const [across, down] = [room.width / scale, room.height / scale];
  const inSight: Box = {
    x: seen.x - (across - seen.width) / 2,
    y: seen.y - (down - seen.height) / 2,
    width: across,
    height: down,
  };
  return (
    <section id="model" aria-labelledby="model-title">
      <div class="bar">
        <h2 id="model-title">Model</h2>
        <ul class="legend" aria-label="Colours">
          {["computing", "waiting", "held", "transferring", "done", "failed", "stopped", "not-started"].map(
            (one) => (
              <li key={one}>
                <span class={`key ${one}`} />
                {one.replace("-", " ")}
              </li>
            ),
          )}
        </ul>
        <div class="buttons" role="group" aria-label="Zoom">
          <button type="button" onClick={() => zoom(0.8)} aria-label="Nearer">
            +
          </button>
          <button type="button" onClick={() => zoom(1.25)} aria-label="Farther">
            −
          </button>
          <button type="button" onClick={() => setView(whole)}>
            Whole
          </button>
        </div>
      </div>
      {plan?.why && <p class="quiet">{plan.why}</p>}
      {plan && plan.nodes.length > 0 && (
        <svg
          ref={drawing}
          class="model"
          style={{ height: `min(${Math.round(whole.height * 1.4)}px, 62vh)` }}
          viewBox={`${seen.x} ${seen.y} ${seen.width} ${seen.height}`}
          role="group"
          tabindex={0}
          aria-label={
            "The model. Plus and minus zoom, arrow keys move, 0 shows all; " +
            "Tab goes from component to component."
          }
          onKeyDown={press}
          onPointerDown={touches}
          onPointerMove={drag}
          onPointerUp={lifts}
          onPointerCancel={lifts}
          onPointerLeave={lifts}
        >
          <defs>
            <marker
              id="head"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="10"
              markerHeight="10"
              markerUnits="userSpaceOnUse"
              orient="auto"
            >
              <path d="M0 0L8 4L0 8z" fill="context-stroke" />
            </marker>
          </defs>
          <Drawing {...shared} plan={plan} seen={inSight} scale={scale} />
        </svg>
      )}
    </section>
  );
}
