import { Problem } from '../base/errors/problem.ts';
import { type CommandRequest, listenToCommands } from '../control/command-socket.ts';
import { Directory } from '../control/directory.ts';
import type { IngestDirectory } from '../control/ingest-directory.ts';
import { JournalEvents } from '../control/journal-events.ts';
import { changeHere, isChangeName, type ValuesOf } from '../control/operator-changes.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Ingest } from '../ingest/ingest.ts';
import { limits } from '../ingest/limits.ts';
import type { ServiceStorage } from '../storage/open-storage.ts';
import { version } from '../tools/version.ts';
import type { Base } from './base.ts';

export async function startDirectory(
  { config: { dataDir }, log, stops, steadyMs, damage }: Base,
  { storage, instance: server }: ServiceStorage,
  clock: Clock,
) {
  const changes = await JournalEvents.open({
    dataDir,
    storage,
    log,
    server,
    refused({ place, event, reason }) {
      const detail = `event ${event} of row ${place} of the journal cannot be stored, and is only there: ${reason}`;
      damage.report({ kind: 'control_data', id: `journal ${place} event ${event}`, detail });
    },
  });
  const directory = new Directory({
    storage,
    log,
    clock,
    expiryMicros: () => steadyMs() * 1000,
    server,
    mark: changes.mark,
    applied(row, isOwn) {
      changes.take(row, isOwn);
      for (const [kind, { id }] of row.parts)
        if (kind === 'accepted_damage') damage.clear('control_data', `journal ${id}`);
    },
    damaged({ place, detail, organization }) {
      const words = `row ${place} of the journal of control data ${detail}: until "auditlog doctor --repair" accepts that, ${organization === undefined ? 'all organizations are' : `the organization ${organization} is`} refused`;
      damage.report({ kind: 'control_data', id: `journal ${place}`, detail: words });
      log.error({ place, organization }, words);
    },
    waiting: () => changes.waiting,
  });
  await directory.refresh();
  directory.start();
  stops.add(() => directory.stop());
  return { directory, changes };
}

/** Passes the events of changes to ingest, those of an earlier process first. */
export async function handChanges(
  { config: { dataDir, serviceName }, log, stops }: Base,
  { directory, changes }: Awaited<ReturnType<typeof startDirectory>>,
  organizations: IngestDirectory,
  ingest: Ingest,
): Promise<void> {
  // Also an organization whose control data is damaged or lost.
  const organizationOf = (id: string) => organizations.organization(id) ?? { id, retentionDays: undefined };
  // The events of a deleted organization have no reader.
  const isOfSomebody = (event: string): boolean => {
    const { message } = JSON.parse(event) as { readonly message: { readonly org: string } };
    return directory.deletionOf(message.org) === undefined;
  };
  const store = async (name: string, events: readonly string[]): Promise<void> => {
    const kept = events.filter(isOfSomebody);
    if (kept.length > 0) await ingest.recordOnce(name, kept, organizationOf);
  };
  const taker = { actor: { name: serviceName, type: 'App/System' } } as const;
  await changes.start(store, (decide) => directory.change(taker, decide));
  stops.add(() => changes.stop());
  const settled = async (): Promise<void> => {
    await changes.settled();
    await ingest.flush(limits.commandFlushMsMax);
  };
  const change = ({ id, operator, change: name, values }: CommandRequest): Promise<unknown> => {
    if (!isChangeName(name)) throw new Problem('not_found', `no change "${name}"`);
    const call = { id, actor: { name: operator, type: 'App/System' } as const };
    // JSON has no undefined.
    const given = values.map((value) => value ?? undefined) as ValuesOf<typeof name>;
    return changeHere(directory, call, name, given);
  };
  stops.add(await listenToCommands({ dataDir, version: version(), log, change, settled }));
}
