// The page: the most important facts first, then the panels.

import { useEffect, useReducer, useState } from "preact/hooks";
import { Headline } from "./Headline";
import { Logs } from "./Logs";
import { Model } from "./Model";
import { Progress } from "./Progress";
import { Sight } from "./Sight";
import type { State } from "./state";
import { Steering } from "./Steering";
import { Studies } from "./Studies";
import { Surfaces } from "./Surfaces";
import { Tables } from "./Tables";
import { Timeline } from "./Timeline";
import { Values } from "./Values";

/** The properties that all panels share. */
export interface PanelProps {
  state: State;
  /** The text that is searched for in names of instances. */
  search: string;
  /** The instance or component that was chosen. */
  chosen: string;
  choose: (name: string) => void;
}

/** Interval at which the duration of a lasting wait is counted on while no news come, ms. */
const WAIT_CLOCK_INTERVAL_MS = 1000;

export function App({ state }: { state: State }) {
  const [, again] = useReducer((n: number) => n + 1, 0);
  const [search, setSearch] = useState("");
  const [chosen, choose] = useState("");
  // The visible part is drawn first.
  const [first, setFirst] = useState(true);
  useEffect(() => {
    let timer = 0;
    const draw = () => {
      again(0);
      clearTimeout(timer);
      timer = window.setTimeout(count, WAIT_CLOCK_INTERVAL_MS);
    };
    const count = () => {
      if (!document.hidden && state.isLive) draw();
      else timer = window.setTimeout(count, WAIT_CLOCK_INTERVAL_MS);
    };
    const end = state.listen(draw);
    count();
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [state]);
  const known = state.run !== null;
  useEffect(() => {
    // If the layout of the model takes long, the other panels are drawn first.
    const timer = known ? setTimeout(() => setFirst(false), WAIT_CLOCK_INTERVAL_MS) : 0;
    return () => clearTimeout(timer);
  }, [known]);
  const shared = { state, search, chosen, choose };
  const asked = [search, chosen];
  if (!state.run) {
    return (
      <main class="empty">
        <h1>Ligament</h1>
        <p role="status">
          {state.unreached ||
            state.view?.why ||
            (state.view?.state === "beginning" ? "The run begins …" : "Asking how the run stands …")}
        </p>
      </main>
    );
  }
  const grids = state.run.grids ?? [];
  return (
    <>
      <a class="skip" href="#model">
        Skip to the model
      </a>
      <header>
        <Headline state={state} choose={choose} />
        <nav aria-label="Panels">
          <a href="#model">Model</a>
          <a href="#tables">Instances</a>
          <a href="#timeline">Timeline</a>
          <a href="#values">Values</a>
          {grids.length > 0 && <a href="#surfaces">Surfaces</a>}
          <a href="#steering">Steering</a>
          <a href="#progress">Progress</a>
          <a href="#logs">Logs</a>
          <input
            type="search"
            aria-label="Search instances"
            placeholder="Search instances"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </nav>
      </header>
      <main>
        <Sight state={state} asked={asked}>
          <Model {...shared} drawn={() => setTimeout(() => setFirst(false))} />
        </Sight>
        {!first && (
          <>
            <Tables {...shared} />
            <Sight state={state} asked={asked}>
              <Timeline {...shared} />
            </Sight>
            <Sight state={state} asked={asked}>
              <Values {...shared} />
            </Sight>
            {grids.length > 0 && (
              <Sight state={state} asked={asked}>
                <Surfaces {...shared} grids={grids} />
              </Sight>
            )}
            <Sight state={state} asked={asked}>
              <Steering {...shared} />
            </Sight>
            <Sight state={state} asked={asked}>
              <Progress {...shared} />
            </Sight>
            <Studies {...shared} />
            <Sight state={state} asked={asked}>
              <Logs {...shared} />
            </Sight>
          </>
        )}
      </main>
    </>
  );
}
