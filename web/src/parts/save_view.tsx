import { useState } from "preact/hooks";
import { savedViews, saveViews, withView } from "../state/views";
import { Icon } from "./icons";

/** Store the address of a page under a name, in this browser. */
export function SaveView({ title }: { title: string }) {
  const [name, setName] = useState<string | null>(null);
  if (name === null) {
    return (
      <button type="button" class="quiet" onClick={() => setName(title)}>
        <Icon name="bookmark" /> Save view
      </button>
    );
  }
  const save = (event: Event): void => {
    event.preventDefault();
    if (name.trim() === "") return;
    const path = location.pathname + location.search;
    saveViews(withView(savedViews.value, { name: name.trim(), path }));
    setName(null);
  };
  return (
    <form class="inline" onSubmit={save}>
      <input
        aria-label="Name of the view"
        value={name}
        maxLength={80}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit">Save</button>
      <button type="button" class="quiet" onClick={() => setName(null)}>
        Cancel
      </button>
    </form>
  );
}
