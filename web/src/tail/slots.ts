import { readStored, store } from "../state/storage";

/** How many tabs stream at once: browsers allow about six connections to a host. */
export const SLOTS = 4;

export interface Slot {
  release: () => void;
}

const lockName = (index: number): string => `headrace.tail.${index}`;
const timeName = (index: number): string => `tail.${index}`;

function hold(index: number, options: LockOptions, onLost: () => void): Promise<Slot | null> {
  return new Promise((resolve) => {
    navigator.locks
      .request(lockName(index), options, (lock) => {
        if (lock === null) {
          resolve(null);
          return undefined;
        }
        store(timeName(index), String(Date.now()));
        return new Promise<void>((release) => resolve({ release }));
      })
      .catch(onLost);
  });
}

/** Take a place among the tabs that stream; null if all are taken. */
export async function takeSlot(onLost: () => void): Promise<Slot | null> {
  for (let index = 0; index < SLOTS; index += 1) {
    const slot = await hold(index, { ifAvailable: true }, onLost);
    if (slot !== null) return slot;
  }
  return null;
}

/** Take over from the tab that has streamed for the longest time. */
export async function takeOver(onLost: () => void): Promise<Slot | null> {
  const begun = Array.from({ length: SLOTS }, (_, index) => Number(readStored(timeName(index))));
  return hold(begun.indexOf(Math.min(...begun)), { steal: true }, onLost);
}
