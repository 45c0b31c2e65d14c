// The activities of each instance, from the run's timeline. A cursor shows their shares at one moment.

import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PanelProps } from "./App";
import { point, useMoment } from "./cursor";
import { PanelVisibility } from "./Sight";
import { ask, fetched } from "./state";
import { inSeconds } from "./text";

interface Row {
  name: string;
  /** For each column, the share of each kind of activity. */
  columns: number[][];
  seconds: number[];
}

interface TimelineAnswer {
  /** True if the server has not read the newest part of the timeline yet. */
  old?: boolean;
  kinds: string[];
  seconds: number;
  started: string;
  rows: Row[];
  why?: string;
}

const COLUMNS = 400;
const ROW_HEIGHT_PX = 18;
/** Interval between two questions while the run goes on, ms. */
const POLL_INTERVAL_MS = 2000;
/** Timeout for a long timeline, which takes the server some time to write, ms. */
const TRACE_TIMEOUT_MS = 300_000;
/** The names of the kinds' colours in the style sheet. */
const INKS: Record<string, string> = {
  compute: "--computing",
  wait: "--waiting",
  send: "--send",
  receive: "--receive",
  held: "--held",
};

function draw(canvas: HTMLCanvasElement, timeline: TimelineAnswer) {
  const style = getComputedStyle(canvas);
  const inks = timeline.kinds.map((kind) => style.getPropertyValue(INKS[kind] ?? "--ink").trim());
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = width * scale;
  canvas.height = timeline.rows.length * ROW_HEIGHT_PX * scale;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.scale(scale, scale);
  timeline.rows.forEach((row, y) => {
    const step = width / row.columns.length;
    row.columns.forEach((parts, x) => {
      let from = y * ROW_HEIGHT_PX + ROW_HEIGHT_PX - 2;
      parts.forEach((part, kind) => {
        if (part === 0) return;
        const tall = part * (ROW_HEIGHT_PX - 4);
        pen.fillStyle = inks[kind]!;
        from -= tall;
        pen.fillRect(x * step, from, step + 0.5, tall);
      });
    });
  });
}

/** The end of a name tells instances apart, so it is always shown. */
const TAIL_CHARS = 10;

function Label({ name }: { name: string }) {
  return (
    <>
      <span class="head">{name.slice(0, -TAIL_CHARS)}</span>
      <span>{name.slice(-TAIL_CHARS)}</span>
    </>
  );
}

/** About `many` round moments along an axis, s. */
export function ticks(seconds: number, many = 5): number[] {
  if (!(seconds > 0)) return [0];
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const rough = seconds / many;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    rough < 1
      ? power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10)
      : (steps.find((one) => one >= rough) ?? 86400 * Math.ceil(rough / 86400));
  return Array.from({ length: Math.floor(seconds / step + 1e-9) + 1 }, (_, i) =>
    Number((i * step).toPrecision(12)),
  );
}

/** Saves the timeline as a file that Perfetto and Chrome read. */
async function saveTrace(name: string): Promise<void> {
  const answer = await fetched("api/trace", undefined, undefined, TRACE_TIMEOUT_MS);
  if (!answer.ok) throw new Error(((await answer.json()) as { why?: string }).why ?? answer.statusText);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = `${name}.trace.json`;
  link.click();
  // By then, the browser has begun to save the file.
  setTimeout(() => URL.revokeObjectURL(link.href), TRACE_TIMEOUT_MS);
}

export function Timeline({ state, search }: PanelProps) {
  const [timeline, setTimeline] = useState<TimelineAnswer | null>(null);
  const [note, setNote] = useState("");
  const moment = useMoment();
  const length = timeline?.seconds || 1;
  // The timeline begins when instances are started, which may be long after the beginning of the run: s.
  const offset =
    (timeline?.started &&
      state.run &&
      (Date.parse(timeline.started) - Date.parse(state.run.started)) / 1000) ||
    0;
  const cursor =
    moment === null || !timeline?.rows
      ? null
      : Math.min(Math.max(Math.floor(((moment - offset) / length) * COLUMNS), 0), COLUMNS - 1);
  const setCursor = (column: number | null) =>
    point(column === null ? null : offset + ((column + 0.5) / COLUMNS) * length);
  const canvas = useRef<HTMLCanvasElement>(null);
  const live = state.isLive;
  const seen = useContext(PanelVisibility);
  useEffect(() => {
    let ended = false;
    let timer = 0;
    async function look() {
      const unseen = document.hidden;
      let old = false;
      if (!unseen) {
        const answer = await ask<TimelineAnswer>(`api/timeline?columns=${COLUMNS}`).catch(
          (error: Error) => ({ why: error.message }) as TimelineAnswer,
        );
        if (!ended) setTimeline(answer);
        old = answer.old === true;
      }
      // After the run's end, the last part of the timeline is requested once the panel is visible.
      if (!ended && (unseen || (live ? seen : old))) timer = window.setTimeout(look, POLL_INTERVAL_MS);
    }
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [live, seen]);
  const shown = useMemo(
    () =>
      timeline?.rows
        ? { ...timeline, rows: timeline.rows.filter((row) => row.name.includes(search)) }
        : null,
    [timeline, search],
  );
  useEffect(() => {
    const draws = () => canvas.current && shown && draw(canvas.current, shown);
    draws();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    window.addEventListener("resize", draws);
    dark.addEventListener("change", draws);
    return () => {
      window.removeEventListener("resize", draws);
      dark.removeEventListener("change", draws);
    };
  }, [shown]);
  function pointAt(event: PointerEvent) {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setCursor(
      Math.min(Math.max(Math.floor(((event.clientX - box.left) / box.width) * COLUMNS), 0), COLUMNS - 1),
    );
  }
  function press(event: KeyboardEvent) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      setCursor(Math.min(Math.max((cursor ?? COLUMNS / 2) + step * (event.shiftKey ? 20 : 1), 0), COLUMNS - 1));
    } else if (event.key === "Escape") {
      setCursor(null);
    }
  }
  const isNarrow = innerWidth <= 600;
  const at = cursor !== null && timeline ? ((cursor + 0.5) / COLUMNS) * timeline.seconds : null;
  function parts(row: Row): string {
    const all = row.seconds.reduce((sum, one) => sum + one, 0) || 1;
    const now = cursor === null ? row.seconds.map((one) => one / all) : (row.columns[cursor] ?? []);
    const words = (shown?.kinds ?? []).map((kind, i) => ({ kind, part: now[i] ?? 0 }));
    return (
      words
        .filter(({ part }) => part >= 0.005)
        .map(({ kind, part }) => `${kind} ${(part * 100).toFixed(0)} %`)
        .join(", ") || "–"
    );
  }
  return (
    <section id="timeline" aria-labelledby="timeline-title">
      <div class="bar">
        <h2 id="timeline-title">Timeline</h2>
        <ul class="legend" aria-label="Colours">
          {(timeline?.kinds ?? []).map((kind) => (
            <li key={kind}>
              <span class={`key ${kind}`} />
              {kind}
            </li>
          ))}
        </ul>
        <p role="status" class="quiet">
          {at === null
            ? "Share of the whole time; point at a moment for its shares"
            : `${inSeconds(at)} after the begin`}
        </p>
        <button
          type="button"
          disabled={!shown || shown.rows.length === 0}
          onClick={() => {
            setNote("");
            saveTrace(state.run?.run ?? "run").catch((error: Error) => setNote(error.message));
          }}
        >
          Trace for Perfetto
        </button>
      </div>
      {note && <p class="bad">{note}</p>}
      {timeline?.why && <p class="quiet">{timeline.why}</p>}
      {shown && shown.rows.length > 0 && (
        <div class="timeline">
          <ul class="names">
            {shown.rows.map((row) => (
              <li key={row.name} title={row.name}>
                <Label name={row.name} />
              </li>
            ))}
          </ul>
          <div
            class="chart"
            tabindex={0}
            role="group"
            aria-label="The timeline. Left and right move the cursor, with Shift faster; Escape takes it away."
            onKeyDown={press}
            onPointerDown={(event) => event.pointerType === "touch" && pointAt(event)}
            onPointerMove={pointAt}
            onPointerLeave={(event) => event.pointerType !== "touch" && setCursor(null)}
          >
            <canvas
              ref={canvas}
              style={{ height: `${shown.rows.length * ROW_HEIGHT_PX}px` }}
              aria-hidden="true"
            />
            {cursor !== null && <div class="cursor" style={{ left: `${((cursor + 0.5) / COLUMNS) * 100}%` }} />}
          </div>
          <ul class="parts" aria-label="Shares of the time">
            {shown.rows.map((row) => (
              <li key={row.name} data-row={row.name} data-seconds={row.seconds.join(" ")} title={parts(row)}>
                <span class="hidden">{row.name}: </span>
                {parts(row)}
              </li>
            ))}
          </ul>
          <p class="axis">
            {ticks(shown.seconds, isNarrow ? 2 : 5).map((one) => (
              <span
                key={one}
                class={one > 0.85 * shown.seconds ? "last" : ""}
                style={{ left: `${(one / (shown.seconds || 1)) * 100}%` }}
              >
                {one === 0 ? "0" : inSeconds(one)}
              </span>
            ))}
          </p>
        </div>
      )}
    </section>
  );
}
