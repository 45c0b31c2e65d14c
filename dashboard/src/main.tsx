// The start of the page: it makes a session of the secret in the link, and removes the secret from the address.

import { render } from "preact";
import { App } from "./App";
import { askEarly } from "./Model";
import { openSession, secretOf, State } from "./state";
import "uplot/dist/uPlot.min.css";
import "./page.css";

const state = new State();
const place = document.getElementById("page")!;
const opened = () => openSession(state).catch(() => "the page's server does not answer");
void opened().then((why) => {
  state.unreached = why;
  askEarly();
  place.textContent = "";
  render(<App state={state} />, place);
  void state.follow();
});
// The user may paste a new link into a page that is open.
window.addEventListener("hashchange", () => {
  if (!secretOf(location.hash)) return;
  void opened().then((why) => {
    state.unreached = why;
    state.tell();
    if (!why) state.goOn();
  });
});
