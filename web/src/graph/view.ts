import { HEIGHT, type Layout, type Place, WIDTH } from "./layout";

/** The part of a drawing that is seen.  x, y: of its top left corner; scale: pixels for a unit. */
export interface View {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

const MIN = 0.05;
const MAX = 2;
const MARGIN = 24;

/** Return the view that shows all of a drawing, not enlarged. */
export function fitView(layout: Layout, size: Size): View {
  const scale = clamp(
    Math.min(
      (size.width - 2 * MARGIN) / Math.max(1, layout.width),
      (size.height - 2 * MARGIN) / Math.max(1, layout.height),
      1,
    ),
  );
  return {
    scale,
    x: layout.width / 2 - size.width / scale / 2,
    y: layout.height / 2 - size.height / scale / 2,
  };
}

/** Return the view with a place in its middle. */
export function centre(place: Place, scale: number, size: Size): View {
  return {
    scale,
    x: place.x + WIDTH / 2 - size.width / scale / 2,
    y: place.y + HEIGHT / 2 - size.height / scale / 2,
  };
}

/** Enlarge a view around a point of it, in pixels. */
export function zoom(view: View, factor: number, at: { x: number; y: number }): View {
  const scale = clamp(view.scale * factor);
  return {
    scale,
    x: view.x + at.x / view.scale - at.x / scale,
    y: view.y + at.y / view.scale - at.y / scale,
  };
}

export function pan(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale };
}

/** Move a view as little as shows a place. */
export function reveal(view: View, place: Place, size: Size): View {
  const [width, height] = [size.width / view.scale, size.height / view.scale];
  const move = (from: number, length: number, start: number, extent: number): number => {
    if (start < from) return start - MARGIN;
    if (start + extent > from + length) return start + extent - length + MARGIN;
    return from;
  };
  return {
    ...view,
    x: move(view.x, width, place.x, WIDTH),
    y: move(view.y, height, place.y, HEIGHT),
  };
}

export function isSeen(view: View, place: Place, size: Size): boolean {
  const [width, height] = [size.width / view.scale, size.height / view.scale];
  return (
    place.x + WIDTH >= view.x &&
    place.x <= view.x + width &&
    place.y + HEIGHT >= view.y &&
    place.y <= view.y + height
  );
}

function clamp(scale: number): number {
  return Math.min(MAX, Math.max(MIN, scale));
}
