import { useEffect } from "preact/hooks";
import { Page } from "../parts/page";
import { noteAnswer } from "../state/ready";
import { address } from "../state/url";

export default function NotFound() {
  useEffect(noteAnswer, []);
  return (
    <Page name="not-found" title="No such page">
      <p>
        There is no page at this address. <kbd>Ctrl K</kbd> finds an id, a page or a saved view; the{" "}
        <a href={address([])}>overview</a> leads to all of them.
      </p>
    </Page>
  );
}
