// The run's log, and the output of each instance, which can be searched by level and text.

import { useEffect, useRef, useState } from "preact/hooks";
import type { PanelProps } from "./App";
import { ask } from "./state";

interface LogAnswer {
  text: string;
  next: number;
  file?: string;
  more?: boolean;
  open?: boolean;
  cut?: boolean;
  why?: string;
}

/** Maximum number of lines that are kept and shown. */
const MAX_LINES = 2000;
/** Maximum length that is kept of a line without an end, such as that of a progress bar. */
const MAX_OPEN_LINE_CHARS = 100_000;
/** Interval between two questions for further text. */
const POLL_INTERVAL_MS = 1000;
const LEVELS = ["debug", "info", "warning", "error", "critical"];

interface Line {
  level: number;
  text: string;
  /** The next text belongs to this line, because its end has not come. */
  open: boolean;
}

/** All lines with their levels. A line without a level belongs to the line before it. */
function read(text: string, before: Line[]): Line[] {
  let last = before[before.length - 1];
  if (last?.open) {
    text = last.text.slice(-MAX_OPEN_LINE_CHARS) + text;
    before = before.slice(0, -1);
    last = before[before.length - 1];
  }
  let level = last?.level ?? 0;
  const pieces = text.split("\n");
  const lines = pieces.map((line, i) => {
    const word = /^\S+Z\s+(\w+)\s/.exec(line)?.[1]?.toLowerCase();
    const found = word === undefined ? -1 : LEVELS.indexOf(word);
    if (found >= 0) level = found;
    return { level, text: line, open: i === pieces.length - 1 };
  });
  return [...before, ...lines.filter(({ text: line, open }) => line !== "" || !open)];
}

export function Logs({ state, chosen }: PanelProps) {
  const [source, setSource] = useState("");
  const [level, setLevel] = useState(0);
  const [filter, setFilter] = useState("");
  const [lines, setLines] = useState<Line[]>([]);
  const [note, setNote] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const stays = useRef(true);
  const live = state.isLive;
  const isInstance = state.instances.some((one) => one.name === chosen);
  useEffect(() => {
    if (isInstance) setSource(chosen);
  }, [chosen, isInstance]);
  useEffect(() => {
    let ended = false;
    let timer = 0;
    let place = "";
    let kept: Line[] = [];
    setLines([]);
    async function look() {
      const of = source ? `api/output?instance=${encodeURIComponent(source)}` : "api/log?";
      let again = live;
      try {
        const piece = await ask<LogAnswer>(`${of}&${place}`);
        if (ended) return;
        if (piece.file !== undefined) place = `from=${piece.next}&file=${piece.file}`;
        if (piece.text) {
          kept = read(piece.text, kept).slice(-MAX_LINES);
          setLines(kept);
        }
        setNote(piece.why ?? "");
        again = again || piece.more === true || piece.open === true;
        timer = again ? window.setTimeout(look, piece.more ? 0 : POLL_INTERVAL_MS) : 0;
      } catch (error) {
        if (!ended) setNote(String((error as Error).message));
        timer = again ? window.setTimeout(look, POLL_INTERVAL_MS) : 0;
      }
    }
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [source, live]);
  const shown = lines.filter(
    (line) => (source || line.level >= level) && line.text.toLowerCase().includes(filter.toLowerCase()),
  );
  useEffect(() => {
    if (stays.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown.length, source]);
  return (
    <section id="logs" aria-labelledby="logs-title">
      <div class="bar">
        <h2 id="logs-title">Logs</h2>
        <label>
          of{" "}
          <select value={source} onChange={(event) => setSource(event.currentTarget.value)}>
            <option value="">the run</option>
            {state.instances.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
        {!source && (
          <label>
            from level{" "}
            <select value={level} onChange={(event) => setLevel(Number(event.currentTarget.value))}>
              {LEVELS.map((name, i) => (
                <option key={name} value={i}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <input
          type="search"
          aria-label="Text in lines"
          placeholder="Text in lines"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </div>
      {note && <p class="quiet">{note}</p>}
      <div
        ref={box}
        class="log"
        role="log"
        aria-live="off"
        aria-labelledby="logs-title"
        tabindex={0}
        onScroll={(event) => {
          const it = event.currentTarget;
          stays.current = it.scrollHeight - it.scrollTop - it.clientHeight < 24;
        }}
      >
        {shown.map((line, i) => (
          <div key={i} class={source ? "" : LEVELS[line.level]}>
            {line.text}
          </div>
        ))}
        {shown.length === 0 && <div class="quiet">Nothing here.</div>}
      </div>
    </section>
  );
}
