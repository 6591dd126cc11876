import { useEffect, useRef } from "preact/hooks";
import { hasShortcuts, switchShortcuts } from "../state/shortcuts";
import { PAGE_KEYS } from "./keys";
import { PLACES } from "./places";

const labelOf = (name: string): string => PLACES.find((each) => each.name === name)?.label ?? name;

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "Find"],
  ["?", "this help"],
  ...Object.entries(PAGE_KEYS).map(([key, name]) => [`g ${key}`, labelOf(name)] as const),
];

/** What the page shows, its keys, and the switch of those that are single. */
export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="find help" aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">Help</h2>
      <p>
        Every page shows what a route of the public API answers. Its address is that route’s query:
        <b> Copy</b> gives the link, the <code>curl</code> command and the <code>headrace</code>{" "}
        command for the same data.
      </p>
      <p>
        <kbd>Ctrl K</kbd> or <kbd>⌘ K</kbd> finds an id, a page or a saved view. A thing has its
        history as a timeline, why each verdict was given, and whether it follows again from the
        log. The slider <b>As of</b> shows it as it was.
      </p>
      <table class="checks">
        <caption>Single keys</caption>
        <tbody>
          {KEYS.map(([key, action]) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{action}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <label>
          <input type="checkbox" checked={hasShortcuts.value} onChange={switchShortcuts} /> single
          keys are shortcuts
        </label>
      </p>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
