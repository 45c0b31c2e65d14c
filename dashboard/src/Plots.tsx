// Drawings of values, on canvases: a line over numbers, the bars of a histogram, an array of two axes in
// colours. The point under the cursor is described in words, for eyes and for screen readers; arrow keys move
// the cursor, too.

import type { RefObject } from "preact";
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { colours, type MapName, rangeFor } from "./colours";
import { range } from "./tap";
import { withoutUnit } from "./text";

/** A drawing takes its colours from the style sheet at the moment in which it is made. */
const DARK_SCHEME = matchMedia("(prefers-color-scheme: dark)");
const HEIGHT_PX = 180;
/** Maximum height of a picture, px. */
const MAX_HEIGHT_PX = 420;
/** Room for the numbers beside a drawing. */
const LEFT_MARGIN_PX = 64;
const BOTTOM_MARGIN_PX = 18;

/** A number in a few digits. */
function brief(x: number): string {
  return Number.isFinite(x) ? String(Number(x.toPrecision(5))) : String(x);
}

/** Two numbers, with enough digits to tell them apart. */
function apart(low: number, high: number): [string, string] {
  for (let digits = 5; ; digits += 1) {
    const [one, other] = [low, high].map((x) => String(Number(x.toPrecision(digits)))) as [string, string];
    if (one !== other || low === high || digits >= 17) return [one, other];
  }
}

/**
 * Returns a number that changes when drawings must be made again with the same values: in other colours, or
 * with another width.
 */
function useLooks(place: RefObject<HTMLElement>): number {
  const [looks, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const change = () => again(0);
    const sizes = new ResizeObserver(change);
    if (place.current) sizes.observe(place.current);
    DARK_SCHEME.addEventListener("change", change);
    return () => {
      sizes.disconnect();
      DARK_SCHEME.removeEventListener("change", change);
    };
  }, [place]);
  return looks;
}

interface CanvasProps {
  label: string;
  /** The content of the drawing: when it changes, the drawing is made again. */
  of: unknown;
  /** Number of places for the cursor, from left to right. */
  places: number;
  /** The place nearest to a position, which is a part of the width. */
  at: (part: number) => number;
  say: (words: string) => void;
  words: (place: number) => string;
  draw: (
    on: CanvasRenderingContext2D,
    width: number,
    height: number,
    ink: (name: string) => string,
    cursor: number | null,
  ) => void;
}

/** A canvas as wide as there is room, with a cursor. */
function Canvas({ label, of, places, at, say, words, draw }: CanvasProps) {
  const place = useRef<HTMLCanvasElement>(null);
  const [pointed, point] = useState<number | null>(null);
  const looks = useLooks(place);
  // The new value may have fewer places than the old one.
  const cursor = pointed === null ? null : Math.min(Math.max(pointed, 0), places - 1);
  useEffect(() => {
    const canvas = place.current!;
    const [width, height] = [canvas.clientWidth || 400, HEIGHT_PX];
    const fine = window.devicePixelRatio || 1;
    canvas.width = width * fine;
    canvas.height = height * fine;
    const on = canvas.getContext("2d")!;
    on.scale(fine, fine);
    const style = getComputedStyle(canvas);
    on.font = "12px system-ui, sans-serif";
    draw(on, width, height, (name) => style.getPropertyValue(name).trim(), cursor);
  }, [of, cursor, looks]);
  // Each new value may be another one under the cursor.
  useEffect(() => {
    if (cursor !== null) say(words(cursor));
  }, [of, cursor]);
  const pointAt = (event: PointerEvent) => {
    const box = place.current!.getBoundingClientRect();
    point(at((event.clientX - box.left - LEFT_MARGIN_PX) / Math.max(box.width - LEFT_MARGIN_PX, 1)));
  };
  return (
    <canvas
      ref={place}
      class="drawn"
      tabindex={0}
      role="img"
      aria-label={label}
      onPointerDown={pointAt}
      onPointerMove={pointAt}
      onPointerLeave={(event) => {
        // After a finger is lifted, the text of the place stays, so that it can be read.
        if (event.pointerType === "touch") return;
        point(null);
        say("");
      }}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        point(Math.min(Math.max((cursor ?? (by > 0 ? -1 : places)) + by, 0), places - 1));
      }}
    />
  );
}

/** The smallest and the largest number, beside a drawing. */
function edges(on: CanvasRenderingContext2D, height: number, low: string, high: string, ink: string): void {
  on.fillStyle = ink;
  on.textAlign = "right";
  // Long numbers are drawn with less space between the digits.
  on.fillText(high, LEFT_MARGIN_PX - 6, 12, LEFT_MARGIN_PX - 8);
  on.fillText(low, LEFT_MARGIN_PX - 6, height - BOTTOM_MARGIN_PX, LEFT_MARGIN_PX - 8);
}

/**
 * The positions of numbers between the first and the last of them. If the numbers do not grow, the positions
 * follow their order.
 */
function parts(x: ArrayLike<number>): (i: number) => number {
  const [first, span] = [x[0]!, x[x.length - 1]! / 2 - x[0]! / 2];
  let grows = Number.isFinite(span) && span > 0;
  for (let i = 1; grows && i < x.length; i += 1) grows = x[i]! >= x[i - 1]!;
  return grows ? (i) => (x[i]! / 2 - first / 2) / span : (i) => (i + 0.5) / x.length;
}

/** A line over numbers that grow, such as times or indices. */
export function Series({
  x,
  y,
  along,
  say,
}: {
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  along: string;
  say: (words: string) => void;
}) {
  const found = useMemo(() => range(y), [y]);
  const part = useMemo(() => parts(x), [x]);
  const [low, high] = found ?? [0, 0];
  /** The place nearest to a position, which is a part of the width. */
  const nearest = (wanted: number) => {
    let [from, to] = [0, y.length - 1];
    while (to - from > 1) {
      const middle = (from + to) >> 1;
      if (part(middle) <= wanted) from = middle;
      else to = middle;
    }
    return wanted - part(from) <= part(to) - wanted ? from : to;
  };
  return (
    <Canvas
      label={found ? `A line from ${brief(low)} to ${brief(high)} over ${along}` : "No finite number"}
      of={y}
      places={y.length}
      at={nearest}
      say={say}
      words={(i) => `${along} ${withoutUnit(x[i])}: ${y[i]}`}
      draw={(on, width, height, ink, cursor) => {
        const span = high / 2 - low / 2;
        const [wide, tall] = [width - LEFT_MARGIN_PX, height - BOTTOM_MARGIN_PX - 8];
        const at = (i: number): [number, number] => [
          LEFT_MARGIN_PX + part(i) * wide,
          4 + tall * (span > 0 ? 1 - (y[i]! / 2 - low / 2) / span : 0.5),
        ];
        if (found) edges(on, height, ...apart(low, high), ink("--quiet"));
        on.strokeStyle = ink("--line");
        on.strokeRect(LEFT_MARGIN_PX, 4, wide, tall);
        on.strokeStyle = ink("--computing");
        on.fillStyle = ink("--computing");
        on.lineWidth = 1.5;
        on.beginPath();
        let open = false;
        for (let i = 0; i < y.length; i += 1) {
          if (!Number.isFinite(y[i])) {
            open = false;
            continue;
          }
          if (open) on.lineTo(...at(i));
          else on.moveTo(...at(i));
          // A single number is drawn as a dot.
          if (!open && !Number.isFinite(y[i + 1])) on.fillRect(at(i)[0] - 1, at(i)[1] - 1, 2, 2);
          open = true;
        }
        on.stroke();
        on.fillStyle = ink("--quiet");
        on.textAlign = "left";
        on.fillText(`${withoutUnit(x[0])}`, LEFT_MARGIN_PX, height - 4);
        on.textAlign = "right";
        on.fillText(`${along} ${withoutUnit(x[x.length - 1])}`, width, height - 4);
        if (cursor !== null && Number.isFinite(y[cursor])) {
          on.fillStyle = ink("--ink");
          on.beginPath();
          on.arc(...at(cursor), 3.5, 0, 2 * Math.PI);
          on.fill();
        }
      }}
    />
  );
}

interface Counts {
  least: number | null;
  greatest: number | null;
  counts: number[];
  others: number;
}

export function Histogram({ value, say }: { value: Counts; say: (words: string) => void }) {
  const { least, greatest, counts, others } = value;
  if (least === null || greatest === null) return <p>No element is finite.</p>;
  const most = counts.reduce((most, many) => Math.max(most, many), 1);
  // The difference of the two may be too large for a double.
  const edge = (i: number) => least * (1 - i / counts.length) + greatest * (i / counts.length);
  return (
    <>
      <Canvas
        label={`A histogram from ${brief(least)} to ${brief(greatest)}`}
        of={value}
        at={(part) => Math.floor(part * counts.length)}
        places={counts.length}
        say={say}
        words={(i) => `${brief(edge(i))} to ${brief(edge(i + 1))}: ${counts[i]}`}
        draw={(on, width, height, ink, cursor) => {
          const [wide, high] = [(width - LEFT_MARGIN_PX) / counts.length, height - BOTTOM_MARGIN_PX - 8];
          edges(on, height, "0", String(most), ink("--quiet"));
          counts.forEach((many, i) => {
            on.fillStyle = i === cursor ? ink("--waiting") : ink("--computing");
            const tall = (many / most) * high;
            on.fillRect(LEFT_MARGIN_PX + i * wide, 4 + high - tall, Math.max(wide - 1, 1), tall);
          });
          on.fillStyle = ink("--quiet");
          on.textAlign = "left";
          on.fillText(apart(least, greatest)[0], LEFT_MARGIN_PX, height - 4);
          on.textAlign = "right";
          on.fillText(apart(least, greatest)[1], width, height - 4);
        }}
      />
      {others > 0 && <p class="quiet">{others} not finite</p>}
    </>
  );
}

interface PictureProps {
  rows: number;
  columns: number;
  elements: Float64Array;
  map: MapName;
  /** The smallest and the largest number of the colours; if undefined, those of each array. */
  held: [number, number] | null;
  say: (words: string) => void;
}

/** The first axis goes down, the second to the right. Numbers that are not finite are left out. */
export function Picture({ rows, columns, elements, map, held, say }: PictureProps) {
  const place = useRef<HTMLCanvasElement>(null);
  const [pointed, point] = useState<[number, number] | null>(null);
  const found = useMemo(() => range(elements), [elements]);
  const [low, high] = held ?? rangeFor(map, ...(found ?? [0, 0]));
  useEffect(() => {
    const canvas = place.current!;
    canvas.width = columns;
    canvas.height = rows;
    const table = colours(map);
    const picture = new ImageData(columns, rows);
    const span = high / 2 - low / 2;
    for (let i = 0; i < rows * columns; i += 1) {
      const x = elements[i]!;
      if (!Number.isFinite(x)) continue;
      const step = span > 0 ? Math.min(255, Math.max(0, Math.floor(((x / 2 - low / 2) / span) * 256))) : 128;
      picture.data.set(table.subarray(3 * step, 3 * step + 3), 4 * i);
      picture.data[4 * i + 3] = 255;
    }
    canvas.getContext("2d")!.putImageData(picture, 0, 0);
  }, [elements, map, rows, columns, low, high]);
  const inside = (row: number, column: number): [number, number] => [
    Math.min(Math.max(row, 0), rows - 1),
    Math.min(Math.max(column, 0), columns - 1),
  ];
  // Each new array may have another value under the cursor.
  useEffect(() => {
    if (!pointed) return;
    const [row, column] = inside(...pointed);
    say(`row ${row}, column ${column}: ${elements[row * columns + column]}`);
  }, [elements, pointed]);
  const pointAt = (event: PointerEvent) => {
    const box = place.current!.getBoundingClientRect();
    const [down, right] = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    point(inside(Math.floor(down * rows), Math.floor(right * columns)));
  };
  return (
    <div class="picture">
      <canvas
        ref={place}
        tabindex={0}
        role="img"
        style={{
          aspectRatio: `${columns} / ${rows}`,
          width: `min(100%, ${Math.ceil((MAX_HEIGHT_PX * columns) / rows)}px)`,
        }}
        aria-label={
          found
            ? `An array of ${rows} by ${columns}, from ${brief(found[0])} to ${brief(found[1])}`
            : "No finite number"
        }
        onPointerDown={pointAt}
        onPointerMove={pointAt}
        onPointerLeave={(event) => {
          if (event.pointerType === "touch") return;
          point(null);
          say("");
        }}
        onKeyDown={(event) => {
          const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
            event.key
          ];
          if (!step) return;
          event.preventDefault();
          const [row, column] = pointed ?? [0, 0];
          point(inside(row + step[0]!, column + step[1]!));
        }}
      />
      <Key map={map} low={low} high={high} />
    </div>
  );
}

/** The legend of the colours and their numbers. */
function Key({ map, low, high }: { map: MapName; low: number; high: number }) {
  const place = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = place.current!;
    const table = colours(map);
    const picture = new ImageData(256, 1);
    for (let i = 0; i < 256; i += 1) picture.data.set([...table.subarray(3 * i, 3 * i + 3), 255], 4 * i);
    canvas.getContext("2d")!.putImageData(picture, 0, 0);
  }, [map]);
  const [least, greatest] = apart(low, high);
  return (
    <div class="scale">
      <span>{least}</span>
      <canvas ref={place} width={256} height={1} aria-hidden="true" />
      <span>{greatest}</span>
    </div>
  );
}
