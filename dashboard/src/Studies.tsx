// The studies of a run: their progress, their answers as they come, and the evaluations that failed.

import { useEffect, useState } from "preact/hooks";
import type { PanelProps } from "./App";
import { ask } from "./state";
import type { AnswerEntry, StudyView } from "./wire";
import { inCount, inSeconds } from "./text";

/** Interval between two questions, ms. While there is no study, it doubles up to the second one. */
const STUDIES_INTERVAL_MS = 2000;
const MAX_STUDIES_INTERVAL_MS = 60_000;
/** Maximum number of rows in the table of answers. */
const ANSWER_ROWS = 10;
/** The picture's size and margins, in its own units. */
const WIDTH = 600;
const HEIGHT = 160;
const MARGIN = 8;

/** The number of an answer that is drawn: the only one, or the first. */
function drawnValue(answer: AnswerEntry): number | undefined {
  return answer.values[0];
}

function Answers({ study }: { study: StudyView }) {
  const points = study.answers.flatMap((answer) => {
    const value = drawnValue(answer);
    return value === undefined ? [] : [{ at: answer.evaluation, value }];
  });
  if (points.length < 2) return null;
  const values = points.map(({ value }) => value);
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const range = greatest - least || 1;
  const first = Math.min(...points.map(({ at }) => at));
  const last = Math.max(...points.map(({ at }) => at));
  const x = (at: number) => MARGIN + ((at - first) / (last - first || 1)) * (WIDTH - 2 * MARGIN);
  const y = (value: number) => HEIGHT - MARGIN - ((value - least) / range) * (HEIGHT - 2 * MARGIN);
  const what = study.answers.some((one) => one.shape.length > 0) ? "First elements of answers" : "Answers";
  const text = `${what} of evaluations ${first} to ${last}: from ${shortened(least)} to ${shortened(greatest)}`;
  return (
    <figure>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={text} class="answers">
        {points.map(({ at, value }) => (
          <circle key={at} cx={x(at)} cy={y(value)} r="3" />
        ))}
      </svg>
      <figcaption class="quiet">{text}.</figcaption>
    </figure>
  );
}

/** A number with enough digits for a table. */
function shortened(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** The numbers of an answer. Of an array, the first ones, and its shape. */
function inText(answer: AnswerEntry): string {
  const numbers = answer.values.map(shortened).join(", ");
  const elements = answer.shape.reduce((product, extent) => product * extent, 1);
  const more = elements > answer.values.length ? ", …" : "";
  return answer.shape.length === 0 ? numbers : `${numbers}${more} (shape [${answer.shape.join(", ")}])`;
}

function Study({ study, isLive }: { study: StudyView; isLive: boolean }) {
  const { state } = study;
  const remains = isLive && state.remains !== undefined && state.answered < state.evaluations;
  return (
    <div data-study={study.instance}>
      <h3>{study.instance}</h3>
      <ul class="progress">
        <li>
          <span class="what">evaluations</span>
          <progress
            aria-label={`Evaluations of ${study.instance}`}
            max={state.evaluations}
            value={state.answered}
          />
          <span class="number">
            {inCount(state.answered)} of {inCount(state.evaluations)}
          </span>
          <span class="quiet">
            {state.failed > 0 && `${inCount(state.failed)} failed, `}
            {inCount(state.instances_left)} of {inCount(state.instances)} instances
            {remains && `, about ${inSeconds(state.remains!)} left`}
          </span>
        </li>
      </ul>
      <Answers study={study} />
      {study.answers.length > 0 && (
        <div class="scroll">
          <table aria-label={`The latest answers of ${study.instance}`}>
            <thead>
              <tr>
                <th scope="col">Evaluation</th>
                {state.parameters.map((name) => (
                  <th scope="col" key={name}>
                    {name}
                  </th>
                ))}
                <th scope="col">Answer</th>
              </tr>
            </thead>
            <tbody>
              {study.answers
                .slice(-ANSWER_ROWS)
                .reverse()
                .map((answer) => (
                  <tr key={answer.evaluation} data-answer={answer.evaluation}>
                    <th scope="row" class="number">
                      {answer.evaluation}
                    </th>
                    {answer.point.map((value, i) => (
                      <td class="number" key={i}>
                        {value}
                      </td>
                    ))}
                    <td class="number">{inText(answer)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      )}
      {state.failures.length > 0 && (
        <ul class="bad" aria-label={`Failed evaluations of ${study.instance}`}>
          {state.failures.map((one) => (
            <li key={one.evaluation} data-failure={one.evaluation}>
              Evaluation {one.evaluation} ({one.settings}) failed: {one.why}
            </li>
          ))}
          {state.failed > state.failures.length && (
            <li>and {inCount(state.failed - state.failures.length)} others</li>
          )}
        </ul>
      )}
    </div>
  );
}

export function Studies({ state }: PanelProps) {
  const [studies, setStudies] = useState<StudyView[]>([]);
  const live = state.isLive;
  useEffect(() => {
    let ended = false;
    let timer = 0;
    let pause = STUDIES_INTERVAL_MS / 2;
    async function look() {
      pause = Math.min(2 * pause, MAX_STUDIES_INTERVAL_MS);
      try {
        const told = await ask<{ studies?: StudyView[] }>("api/studies");
        if (told.studies?.length) pause = STUDIES_INTERVAL_MS;
        if (!ended) setStudies(told.studies ?? []);
      } catch {
        // The last answers stay. The headline says that the server cannot be reached.
      }
      if (!ended && live) timer = window.setTimeout(look, pause);
    }
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [live]);
  if (studies.length === 0) return null;
  return (
    <section id="studies" aria-labelledby="studies-title">
      <div class="bar">
        <h2 id="studies-title">Studies</h2>
      </div>
      {studies.map((study) => (
        <Study key={study.instance} study={study} isLive={live} />
      ))}
    </section>
  );
}
