import { activityTitles } from '../ocsf/activities.ts';
import type { ThingType } from './profile.ts';

/** `self` is the actor's own account, `person` a colleague's. */
export type Target = ThingType | 'person' | 'file' | 'folder' | 'organization' | 'self';

export interface DemoActivity {
  readonly code: number;
  /** Relative frequency among activities of the same person or program. */
  readonly weight: number;
  readonly target: Target;
  /** `{who}` does it to `{what}`, perhaps with `{whom}`; `{n}` is a number. */
  readonly message: string;
}

type ActivityRow = readonly [code: number, weight: number, target: Target, message: string];

/** By actor: anyone at work, administrators, auditors, people of other companies, programs. */
const rows: Readonly<Record<string, readonly ActivityRow[]>> = {
  member: [
    [2004, 95, 'file', '{who} opened {what}'],
    [2010, 5, 'file', '{who} deleted {what}'],
    [6300, 16, 'folder', '{who} made a folder in {what}'],
    [6301, 60, 'folder', '{who} looked at {what}: {n} items'],
    [6304, 22, 'file', '{who} shared {what} with {whom}'],
    [6305, 4, 'file', '{who} stopped sharing {what} with {whom}'],
    [1010, 2, 'self', '{who} changed the password'],
    [1011, 1.5, 'self', '{who} asked for a link to reset the password'],
    [6401, 5, 'policy', '{who} asked for an exception from “{what}”'],
    [6500, 1, 'terms', '{who} accepted {what}'],
    [6711, 4, 'tag', '{who} put the tag {what} on {n} files'],
  ],
  admin: [
    [1000, 18, 'newcomer', '{who} made an account for {what}'],
    [1004, 30, 'person', '{who} corrected the job title of {what}'],
    [1006, 6, 'newcomer', '{who} disabled {what}: the contract has ended'],
    [1030, 6, 'person', '{who} ended a session of {what} on a lost device'],
    [1200, 24, 'newcomer', '{who} invited {what}'],
    [1210, 24, 'group', '{who} added {whom} to {what}'],
    [1211, 12, 'group', '{who} took {whom} out of {what}'],
    [1300, 3.6, 'apiKey', '{who} made an API key: {what}'],
    [2102, 12, 'storage', '{who} raised the quota of {what} to {n} TB'],
    [2113, 3, 'storage', '{who} brought back {n} files from the backup of {what}'],
    [4010, 18, 'setting', '{who} changed the setting {what}'],
    [6100, 6, 'policy', '{who} drafted “{what}” for {n} groups'],
    [6101, 18, 'policy', '{who} edited “{what}”'],
    [6103, 6, 'policy', '{who} put “{what}” into force'],
    [6200, 6, 'networkRule', '{who} made the network rule {what}'],
    [6201, 12, 'networkRule', '{who} added {n} addresses to the network rule {what}'],
    [6203, 36, 'networkRule', '{who} listed the network rules down to {what}'],
    [6307, 18, 'folder', '{who} attached a policy to {what}'],
    [6610, 3, 'project', '{who} opened phase {n} of {what}'],
    [6630, 3, 'group', '{who} made the group {what}'],
    [6631, 18, 'group', '{who} renewed the membership of {n} people in {what}'],
    [6710, 12, 'tag', '{who} made the tag {what}'],
    [6721, 6, 'form', '{who} added {n} questions to the form {what}'],
    [6723, 6, 'form', '{who} published the form {what}'],
  ],
  auditor: [
    [2030, 18, 'organization', '{who} exported {n}00 audit events of {what} as CSV'],
    [6700, 48, 'project', '{who} read where the data of {what} flows: {n} edges'],
  ],
  guest: [
    [6303, 14, 'file', '{who} downloaded {what} by a shared link'],
    [6724, 8, 'form', '{who} sent the form {what} with {n} answers'],
  ],
  directory: [[1232, 2, 'newcomer', '{what} provisioned with {n} attributes']],
  keys: [[1303, 2, 'apiKey', '{what} has a new secret for {n} days']],
  backups: [
    [2110, 4, 'storage', 'backup of {what}, {n} GB to look at'],
    [2111, 4, 'storage', 'backup of {what}, {n} GB new'],
  ],
  jobs: [
    [4020, 14, 'job', '{what} began with {n} items in its queue'],
    [4021, 14, 'job', '{what} handled {n} items'],
    [4022, 0.6, 'job', '{what} stopped at item {n}'],
  ],
  notices: [
    [5000, 20, 'notification', '“{what}” sent to {whom}'],
    [5001, 1, 'notification', '“{what}” did not reach {whom}'],
  ],
  policies: [[6001, 3, 'policy', '“{what}” stopped {whom}']],
};

export const doers: ReadonlySet<string> = new Set(Object.keys(rows));

export const activitiesOf = (doer: string): DemoActivity[] =>
  (rows[doer] ?? []).map(([code, weight, target, message]) => ({ code, weight, target, message }));

/** Undefined if the code is not in the tables. */
export const targetOf = (code: number): Target | undefined =>
  [...doers].flatMap(activitiesOf).find((one) => one.code === code)?.target;

const warnings = new Set([
  1002, 1006, 1030, 1102, 1103, 1302, 2005, 2006, 2022, 4010, 5001, 6001, 6103, 6201,
]);
const errors = new Set([4022]);

export function levelOf(code: number): 'INFO' | 'WARN' | 'ERROR' {
  if (errors.has(code)) return 'ERROR';
  return warnings.has(code) ? 'WARN' : 'INFO';
}

/** Result codes of failures; all other activities have 200. */
export const failures = new Map([
  [1002, 401],
  [1102, 401],
  [4022, 500],
  [5001, 550],
  [6001, 403],
]);

/** A transfer: a start, then its completion, its failure, or nothing. */
export interface DemoTransfer {
  readonly weight: number;
  readonly codes: readonly [started: number, completed: number, failed: number];
  readonly words: readonly [begins: string, done: string];
}

export const demoTransfers: readonly DemoTransfer[] = [
  { weight: 90, codes: [2000, 2001, 2005], words: ['begins to upload', 'uploaded'] },
  { weight: 110, codes: [2002, 2003, 2006], words: ['begins to download', 'downloaded'] },
  { weight: 45, codes: [2020, 2021, 2022], words: ['begins to play', 'played'] },
];

/** The registry's title; throws for an unknown code. */
export function titleOf(code: number): string {
  const title = activityTitles.get(code);
  if (title === undefined) throw new Error(`no activity has the code ${code}`);
  return title;
}
