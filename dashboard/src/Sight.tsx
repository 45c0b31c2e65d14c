// Parts out of sight are not drawn again: of a large run, news would otherwise cost the time of all panels at
// once.

import { Component, type ComponentChildren, createContext, createRef } from "preact";
import type { State } from "./state";

/** So many instances and conduits together are drawn wherever they are. */
const FEW = 300;

/** How the run and the view of it stand: when that changes, all is drawn. */
function standing({ run, view }: State): string {
  return `${run?.state} ${view?.state}`;
}

/** Whether a panel is drawn as news come. */
export const Seen = createContext(true);

interface Props {
  state: State;
  /** Whatever else it shows than the state: if one of these has changed, it is drawn at once. */
  asked: unknown[];
  children: ComponentChildren;
}

/**
 * A panel, or a part of one: of a large run, drawn again only while it is in sight, and when the run or the
 * view begins or ends.
 */
export class Sight extends Component<Props, { near: boolean }> {
  override state = { near: false };
  private place = createRef<HTMLDivElement>();
  private watcher: IntersectionObserver | undefined;
  private standing: string | undefined;

  private isDrawn(near: boolean, { instances, conduits }: State): boolean {
    return near || instances.length + conduits.length <= FEW;
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
      <Seen.Provider value={this.isDrawn(near, state)}>
        <div ref={this.place}>{children}</div>
      </Seen.Provider>
    );
  }
}
