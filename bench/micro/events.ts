import { demoEvents } from '../../src/cli/demo-events.ts';
import { demoStaff } from '../../src/cli/demo-people.ts';
import { createMapper, type MapEvent, type MappedEvent } from '../../src/ocsf/audit-event.ts';
import { alwaysRedacted } from '../../src/ocsf/redact.ts';

/** The same 200 source events in every run: their instants, people and files are fixed. */
export const texts: readonly string[] = [
  ...demoEvents({
    organization: 'acme',
    users: demoStaff('acme.example'),
    count: 200,
    endMicros: 1_780_000_000_000_000,
    seed: 7,
  }),
];

const organization = { id: '0f8fad5b-d9cb-469f-a165-70867728950e', retentionDays: undefined };

const resolveOrg = () => organization;

export function newMapper(): MapEvent {
  return createMapper({ appName: 'Audit Log Service', redactKeys: alwaysRedacted });
}

/** The rows of `all`; throws when one is refused. */
export function mapAll(map: MapEvent, all: readonly string[]): MappedEvent[] {
  return all.map((text) => {
    const row = map(text, 0, text.length, resolveOrg);
    if (typeof row === 'string') throw new Error(`a source event of the bench is refused: ${row}`);
    return row;
  });
}
