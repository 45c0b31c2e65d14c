// Parts out of sight are not drawn again. In a large run, drawing all panels at each news would take too long.

import { Component, type ComponentChildren, createContext, createRef } from "preact";
import type { State } from "./state";

/** A run with at most this many instances and conduits together is drawn everywhere. */
const MAX_SMALL_RUN_PARTS = 300;

/** The states of the run and of the view. When they change, everything is drawn. */
function standing({ run, view }: State): string {
  return `${run?.state} ${view?.state}`;
}

/** True while a panel is in sight, or the run is small: the panel is drawn at each change of the state. */
export const PanelVisibility = createContext(true);

interface Props {
  state: State;
  /** The other values that the part shows. If one of them has changed, the part is drawn at once. */
  asked: unknown[];
  children: ComponentChildren;
}

/**
 * A panel, or a part of one. In a large run, it is drawn again only in sight, and when the run or the view
 * begins or ends.
 */
export class Sight extends Component<Props, { near: boolean }> {
  override state = { near: false };
  private place = createRef<HTMLDivElement>();
  private watcher: IntersectionObserver | undefined;
  private standing: string | undefined;

  private isDrawn(near: boolean, { instances, conduits }: State): boolean {
    return near || instances.length + conduits.length <= MAX_SMALL_RUN_PARTS;
  }

  override componentDidMount() {
    this.watcher = new IntersectionObserver((found) =>
      this.setState({ near: found[found.length - 1]!.isIntersecting }),
    );
    this.watcher.observe(this.place.current!);
  }

  override componentWillUnmount() {
    this.watcher?.disconnect();
  }

  override shouldComponentUpdate(next: Props, { near }: { near: boolean }) {
    const isAsked = next.asked.some((one, i) => one !== this.props.asked[i]);
    return (
      isAsked ||
      near !== this.state.near ||
      standing(next.state) !== this.standing ||
      this.isDrawn(near, next.state)
    );
  }

  override render({ state, children }: Props, { near }: { near: boolean }) {
    this.standing = standing(state);
    return (
      <PanelVisibility.Provider value={this.isDrawn(near, state)}>
        <div ref={this.place}>{children}</div>
      </PanelVisibility.Provider>
    );
  }
}
