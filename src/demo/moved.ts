import type { Draw } from './draw.ts';
import type { Place } from './people.ts';
import { type DemoFile, endingOf } from './things.ts';

/** What a transfer has brought over the line, and how long that took. */
export interface Moved {
  readonly bytes: number;
  readonly seconds: number;
}

/** How much of the line other recordings take while they play, as a part of what a film takes. */
const lineShare = new Map([
  ['mp3', 1 / 40],
  ['wav', 1 / 4],
]);

/** What came over the line while someone watched or listened. */
export function playedOf(draw: Draw, file: DemoFile): Moved {
  const bytesPerSecond = draw.integer(400_000, 1_500_000) * (lineShare.get(endingOf(file.name)) ?? 1);
  const seconds = Math.min(file.bytes / bytesPerSecond, draw.integer(20, 1800));
  return { seconds, bytes: Math.floor(seconds * bytesPerSecond) };
}

/** A whole file, in the time that it takes from there. */
export function movedOf(draw: Draw, { bytes }: DemoFile, { bytesPerSecond }: Place): Moved {
  return { bytes, seconds: 0.1 + bytes / (bytesPerSecond * (0.3 + 0.7 * draw.next())) };
}
