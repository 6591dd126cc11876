import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { spoken } from "../state/announce";
import { isLocal, now, switchClock, writeTime } from "../state/clock";
import { isSignedOut, service } from "../state/service";
import { hasShortcuts } from "../state/shortcuts";
import { nextTheme, theme } from "../state/theme";
import { address } from "../state/url";
import { Find } from "./find";
import { Help } from "./help";
import { Icon, type IconName } from "./icons";
import { readKey, takesText } from "./keys";
import { PLACES } from "./places";
import { signInAddress } from "./states";
import { Text } from "./text";
import { ViewState } from "./view_state";

const THEME_ICONS: Record<string, IconName> = { system: "system", light: "sun", dark: "moon" };

type Dialog = "find" | "help";

/**
 * Open a dialog or a page by keys, while no dialog is open.
 *
 * The listener changes with the page, before a further key can be pressed: an effect after painting
 * would lose the first keys after a dialog.
 */
function useKeys(dialog: Dialog | undefined, open: (dialog: Dialog) => void): void {
  const { route } = useLocation();
  const last = useRef("");
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const single = hasShortcuts.value && !takesText(event.target);
      const action = readKey(event, last.current, single);
      last.current = event.key;
      if (action === undefined || dialog !== undefined || isDialogOpen()) return;
      event.preventDefault();
      last.current = "";
      if (typeof action === "string") open(action);
      else route(address(action.page === "overview" ? [] : [action.page]));
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [dialog, open, route]);
}

function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

/** What is around every page: the rail, the top bar, the dialogs, what screen readers hear. */
export function Shell({ children }: { children: ComponentChildren }) {
  const [dialog, setDialog] = useState<Dialog>();
  useKeys(dialog, setDialog);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="bar">
        <a class="brand" href={address([])}>
          headrace
        </a>
        <button type="button" class="finder" onClick={() => setDialog("find")}>
          <Icon name="search" />
          <span>Find an id, a page, a view</span>
          <kbd>Ctrl K</kbd>
        </button>
        <span class="space" />
        <ViewState />
        <Clock />
        <button
          type="button"
          class="bare"
          aria-label={`Theme: ${theme.value}. Switch`}
          title={`Theme: ${theme.value}`}
          onClick={() => {
            theme.value = nextTheme(theme.value);
          }}
        >
          <Icon name={THEME_ICONS[theme.value] ?? "system"} />
        </button>
        <button type="button" class="bare" aria-label="Help" onClick={() => setDialog("help")}>
          <Icon name="help" />
        </button>
        <Principal />
      </header>
      <Rail />
      {children}
      {dialog === "find" && <Find onClose={() => setDialog(undefined)} />}
      {dialog === "help" && <Help onClose={() => setDialog(undefined)} />}
      <p class="heard" role="status">
        {spoken}
      </p>
    </>
  );
}

function Clock() {
  const zone = isLocal.value ? "local" : "UTC";
  const shown = `${writeTime(now.value, isLocal.value, now.value).slice(0, 8)} ${zone}`;
  return (
    <button
      type="button"
      class="quiet clock"
      aria-label={`${shown}. Switch the clock`}
      onClick={switchClock}
    >
      {shown}
    </button>
  );
}

function Principal() {
  const caller = service.value.data?.caller;
  if (isSignedOut(service.value)) return <a href={signInAddress()}>Sign in</a>;
  if (!caller) return null;
  return (
    <a class="principal" href={address(["sign-in"])}>
      <Icon name="user" /> <Text value={caller.principal} code />{" "}
      <span class="muted">{caller.roles.join(", ")}</span>
    </a>
  );
}

function Rail() {
  const { path } = useLocation();
  const rail = useRef<HTMLElement>(null);
  useEffect(() => {
    const current = rail.current?.querySelector("[aria-current]");
    current?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path]);
  return (
    <nav class="rail" aria-label="Pages" ref={rail}>
      <ul>
        {PLACES.map((place) => {
          const href = address(place.segments);
          const current =
            place.segments.length === 0
              ? `${path}/` === href || path === href
              : path.startsWith(href);
          return (
            <li key={place.name} class={place.begins ? "begins" : undefined}>
              <a href={href} aria-current={current ? "page" : undefined}>
                <Icon name={place.icon} />
                <span>{place.label}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
