import { useEffect, useState } from "preact/hooks";
import { CopyButton } from "../parts/copy";
import { Page } from "../parts/page";
import { Empty } from "../parts/states";
import { useTeamViews } from "../parts/team_views";
import { Text } from "../parts/text";
import { noteAnswer } from "../state/ready";
import { parseViews, savedViews, saveViews, withView } from "../state/views";

/** The views that this browser has stored, and those of the team. */
export default function SavedViews() {
  useEffect(noteAnswer, []);
  const team = useTeamViews();
  const own = savedViews.value;
  return (
    <Page name="saved-views" title="Saved views">
      <div class="cards">
        <section class="card">
          <h2>In this browser</h2>
          {own.length === 0 && <Empty>None. “Save view” on a page stores its address here.</Empty>}
          <ul class="lines">
            {own.map((each) => (
              <li key={each.name}>
                <a href={each.path}>
                  <Text value={each.name} />
                </a>{" "}
                <button
                  type="button"
                  class="quiet"
                  onClick={() => saveViews(own.filter((other) => other !== each))}
                >
                  Remove
                </button>
              </li>
            ))}
          </ul>
          {own.length > 0 && (
            <CopyButton label="Copy as JSON" text={() => JSON.stringify(own, null, 2)} />
          )}
          <Import />
        </section>
        <section class="card">
          <h2>Of the team</h2>
          {team.length === 0 && (
            <Empty>
              None. <code>HEADRACE_CONSOLE_VIEWS</code> names a file of them.
            </Empty>
          )}
          <ul class="lines">
            {team.map((each) => (
              <li key={each.name}>
                <a href={each.path}>
                  <Text value={each.name} />
                </a>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </Page>
  );
}

function Import() {
  const [text, setText] = useState("");
  const [message, setMessage] = useState("");
  const run = (event: Event): void => {
    event.preventDefault();
    const views = parseViews(text);
    if (views === null) {
      setMessage("This is no list of views.");
      return;
    }
    saveViews(views.reduce((all, each) => withView(all, each), savedViews.value));
    setMessage(`${views.length} taken over.`);
    setText("");
  };
  return (
    <form class="stacked" onSubmit={run}>
      <label for="import">Import JSON</label>
      <textarea
        id="import"
        rows={4}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" disabled={text.trim() === ""}>
        Import
      </button>
      <p role="status">{message}</p>
    </form>
  );
}
