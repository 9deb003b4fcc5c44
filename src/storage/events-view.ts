import { createHash } from 'node:crypto';
import { type EventsViewOptions, eventsView } from './statements.ts';
import type { Storage } from './storage.ts';

/**
 * Makes the view for operators where it is missing or another one. What it is made of is in its comment, as a hash:
 * the engine tells a view's statement in its own words. Dropping and creating takes fewer rights than replacing, for
 * which the user would have to be allowed to drop tables.
 */
export async function keepEventsView(storage: Storage, options: EventsViewOptions): Promise<void> {
  const { drop, create } = eventsView(options);
  const comment = `definition ${createHash('sha256').update(create).digest('hex')}`;
  const [found] = await storage.rows<{ comment: string }>(
    "SELECT comment FROM system.tables WHERE database = {database:String} AND name = 'ocsf_events'",
    { database: options.database },
  );
  if (found?.comment === comment) return;
  await storage.command(drop);
  await storage.command(`${create}\nCOMMENT '${comment}'`);
}
