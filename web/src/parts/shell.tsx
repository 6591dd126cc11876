import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { isLocal, now, switchClock, writeTime } from "../state/clock";
import { isSignedOut, service } from "../state/service";
import { nextTheme, theme } from "../state/theme";
import { address } from "../state/url";
import { Find } from "./find";
import { Icon, type IconName } from "./icons";
import { isOpening } from "./keys";
import { PLACES } from "./places";
import { signInAddress } from "./states";
import { Text } from "./text";
import { ViewState } from "./view_state";

const THEME_ICONS: Record<string, IconName> = { system: "system", light: "sun", dark: "moon" };

/** What is around every page: the rail, the top bar, the dialog Find. */
export function Shell({ children }: { children: ComponentChildren }) {
  const [finding, setFinding] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!isOpening(event)) return;
      event.preventDefault();
      setFinding(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="bar">
        <a class="brand" href={address([])}>
          headrace
        </a>
        <button type="button" class="finder" onClick={() => setFinding(true)}>
          <Icon name="search" />
          <span>Find an id, a page, a view</span>
          <kbd>Ctrl K</kbd>
        </button>
        <span class="space" />
        <ViewState />
        <button
          type="button"
          class="quiet clock"
          aria-label={`Clock: ${isLocal.value ? "local time" : "UTC"}. Switch`}
          onClick={switchClock}
        >
          {writeTime(now.value, isLocal.value, now.value).slice(0, 8)}{" "}
          {isLocal.value ? "local" : "UTC"}
        </button>
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
        <Principal />
      </header>
      <Rail />
      {children}
      {finding && <Find onClose={() => setFinding(false)} />}
    </>
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
  return (
    <nav class="rail" aria-label="Pages">
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
