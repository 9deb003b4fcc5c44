import { activityTitles } from '../ocsf/activities.ts';
import type { ThingType } from './profile.ts';

/** Whose activity it is: that of anyone at work, an administrator, an auditor, someone of another company, a program. */
export type Doer = 'member' | 'admin' | 'auditor' | 'guest' | 'service';

/** What it is about; `self` is the account of the one who does it, `person` a colleague's. */
export type Target = ThingType | 'person' | 'file' | 'folder' | 'organization' | 'self';

/** An activity of one event. */
export interface DemoActivity {
  readonly code: number;
  readonly title: string;
  /** How often, compared with others of the same doer. */
  readonly weight: number;
  readonly by: Doer;
  readonly target: Target;
  /** `{who}` does it to `{what}`, perhaps with `{whom}`; `{n}` is some number. */
  readonly message: string;
}

/** Those of weight 0 come of others only: see `consequences`. */
const rows: readonly (readonly [code: number, weight: number, by: Doer, target: Target, message: string])[] =
  [
    [2004, 95, 'member', 'file', '{who} opened {what}'],
    [2010, 5, 'member', 'file', '{who} deleted {what}'],
    [6300, 16, 'member', 'folder', '{who} made a folder in {what}'],
    [6301, 60, 'member', 'folder', '{who} looked at {what}: {n} items'],
    [6302, 10, 'member', 'file', '{who} saved {what} from the desktop'],
    [6304, 22, 'member', 'file', '{who} shared {what} with {whom}'],
    [6305, 4, 'member', 'file', '{who} stopped sharing {what} with {whom}'],
    [6306, 3, 'member', 'folder', '{who} deleted an empty folder in {what}'],
    [1010, 2, 'member', 'self', '{who} changed the password'],
    [1011, 1.5, 'member', 'self', '{who} asked for a link to reset the password'],
    [1012, 0, 'member', 'self', '{who} chose a new password by the link'],
    [1100, 0.4, 'member', 'self', '{who} set up an authenticator app'],
    [1104, 0.5, 'member', 'self', '{who} made {n} recovery codes'],
    [6401, 5, 'member', 'policy', '{who} asked for an exception from “{what}”'],
    [6500, 1, 'member', 'terms', '{who} accepted {what}'],
    [6611, 5, 'member', 'project', '{who} moved a milestone of {what} to week {n}'],
    [6711, 4, 'member', 'tag', '{who} put the tag {what} on {n} files'],

    [1000, 3, 'admin', 'newcomer', '{who} made an account for {what}'],
    [1004, 5, 'admin', 'person', '{who} corrected the job title of {what}'],
    [1005, 0.5, 'admin', 'newcomer', '{who} deleted the account of {what}'],
    [1006, 1, 'admin', 'newcomer', '{who} disabled {what}: the contract has ended'],
    [1007, 0.5, 'admin', 'newcomer', '{who} enabled {what} again'],
    [1020, 2, 'admin', 'person', '{who} made {what} approver of a group'],
    [1030, 1, 'admin', 'person', '{who} ended a session of {what} on a lost device'],
    [1103, 0.3, 'admin', 'newcomer', '{who} switched MFA off for {what}: new phone'],
    [1200, 4, 'admin', 'newcomer', '{who} invited {what}'],
    [1201, 0, 'admin', 'newcomer', '{what} came by the invitation'],
    [1202, 0.5, 'admin', 'newcomer', '{who} withdrew the invitation of {what}'],
    [1210, 4, 'admin', 'group', '{who} added {whom} to {what}'],
    [1211, 2, 'admin', 'group', '{who} took {whom} out of {what}'],
    [1220, 0.2, 'admin', 'connection', '{who} connected {what}'],
    [1221, 1, 'admin', 'connection', '{who} renewed the certificate of {what}'],
    [1222, 0.1, 'admin', 'connection', '{who} removed an unused connection beside {what}'],
    [1230, 0.2, 'admin', 'connection', '{who} switched on provisioning by {what}'],
    [1231, 0.2, 'admin', 'connection', '{who} paused provisioning by {what}'],
    [1300, 0.6, 'admin', 'apiKey', '{who} made an API key: {what}'],
    [1301, 0.5, 'admin', 'apiKey', '{who} deleted an expired API key: {what}'],
    [1302, 0.5, 'admin', 'apiKey', '{who} revoked the API key of a retired system: {what}'],
    [2100, 0.3, 'admin', 'storage', '{who} made the storage {what}'],
    [2101, 0.1, 'admin', 'storage', '{who} deleted an empty bucket of {what}'],
    [2102, 2, 'admin', 'storage', '{who} raised the quota of {what} to {n} TB'],
    [2113, 0.5, 'admin', 'storage', '{who} brought back {n} files from the backup of {what}'],
    [3000, 0.1, 'admin', 'plan', '{who} subscribed to {what}'],
    [3001, 0.5, 'admin', 'plan', '{who} added {n} seats to {what}'],
    [3002, 0.1, 'admin', 'plan', '{who} cancelled an add-on of {what}'],
    [3010, 0.3, 'admin', 'plan', '{who} changed how {what} is paid'],
    [3020, 0.2, 'admin', 'plan', '{who} began a trial of an add-on of {what}'],
    [4010, 3, 'admin', 'setting', '{who} changed the setting {what}'],
    [5011, 1, 'admin', 'organization', '{who} changed the contact address of {what}'],
    [6100, 1, 'admin', 'policy', '{who} drafted “{what}” for {n} groups'],
    [6101, 3, 'admin', 'policy', '{who} edited “{what}”'],
    [6102, 0.2, 'admin', 'policy', '{who} deleted a draft of “{what}”'],
    [6103, 1, 'admin', 'policy', '{who} put “{what}” into force'],
    [6104, 0.3, 'admin', 'policy', '{who} suspended “{what}” for {n} hours'],
    [6105, 0.3, 'admin', 'policy', '{who} imported “{what}”'],
    [6106, 0.5, 'admin', 'policy', '{who} exported “{what}”'],
    [6200, 1, 'admin', 'networkRule', '{who} made the network rule {what}'],
    [6201, 2, 'admin', 'networkRule', '{who} added {n} addresses to the network rule {what}'],
    [6202, 0.3, 'admin', 'networkRule', '{who} deleted a rule that {what} covers'],
    [6203, 6, 'admin', 'networkRule', '{who} listed the network rules down to {what}'],
    [6307, 3, 'admin', 'folder', '{who} attached a policy to {what}'],
    [6402, 0, 'admin', 'policy', '{who} approved an exception from “{what}”'],
    [6403, 0.5, 'admin', 'policy', '{who} turned down an exception from “{what}” for {whom}'],
    [6410, 0.3, 'admin', 'organization', '{who} let the vendor’s support look at {what} for {n} minutes'],
    [6411, 0, 'admin', 'organization', '{who} ended the access of support to {what}'],
    [6600, 0.5, 'admin', 'partner', '{who} added the partner {what}'],
    [6601, 1, 'admin', 'partner', '{who} changed who speaks for {what}'],
    [6602, 0.1, 'admin', 'partner', '{who} removed a former address of {what}'],
    [6610, 0.5, 'admin', 'project', '{who} opened phase {n} of {what}'],
    [6612, 0.1, 'admin', 'project', '{who} deleted a test project beside {what}'],
    [6621, 0.3, 'admin', 'agent', '{who} took the old machine of {what} out of service'],
    [6630, 0.5, 'admin', 'group', '{who} made the group {what}'],
    [6631, 3, 'admin', 'group', '{who} renewed the membership of {n} people in {what}'],
    [6632, 0.1, 'admin', 'group', '{who} deleted an empty group under {what}'],
    [6641, 0.3, 'admin', 'connection', '{who} unlinked an identity of {whom} from {what}'],
    [6710, 2, 'admin', 'tag', '{who} made the tag {what}'],
    [6712, 0.3, 'admin', 'tag', '{who} merged a tag into {what}'],
    [6720, 0.5, 'admin', 'form', '{who} drafted the form {what}'],
    [6721, 1, 'admin', 'form', '{who} added {n} questions to the form {what}'],
    [6722, 0.1, 'admin', 'form', '{who} deleted an old version of the form {what}'],
    [6723, 1, 'admin', 'form', '{who} published the form {what}'],

    [2030, 3, 'auditor', 'organization', '{who} exported {n}00 audit events of {what} as CSV'],
    [6700, 8, 'auditor', 'project', '{who} read where the data of {what} flows: {n} edges'],

    [6303, 14, 'guest', 'file', '{who} downloaded {what} by a shared link'],
    [6501, 4, 'guest', 'terms', '{who} read {what}'],
    [6640, 1, 'guest', 'connection', '{who} linked an identity of {what}'],
    [6724, 8, 'guest', 'form', '{who} sent the form {what} with {n} answers'],

    [1232, 2, 'service', 'newcomer', '{what} provisioned with {n} attributes'],
    [1233, 0.5, 'service', 'newcomer', '{what} has left the directory'],
    [1303, 2, 'service', 'apiKey', '{what} has a new secret for {n} days'],
    [2110, 4, 'service', 'storage', 'backup of {what}, {n} GB to look at'],
    [2111, 0, 'service', 'storage', 'backup of {what}, {n} GB new'],
    [2112, 0.3, 'service', 'storage', 'backup of {what} ended after {n} GB'],
    [3011, 0.03, 'service', 'plan', '{n} seats of {what} paid'],
    [3012, 0.01, 'service', 'plan', 'the card for {what} was refused {n} s after midnight'],
    [3021, 0.01, 'service', 'plan', 'the trial of an add-on of {what} has ended'],
    [4000, 0, 'service', 'agent', '{what} is up after {n} s'],
    [4001, 0.4, 'service', 'agent', '{what} went down for an update'],
    [4002, 0.6, 'service', 'agent', 'no answer of {what} within {n} s'],
    [4020, 14, 'service', 'job', '{what} began with {n} items in its queue'],
    [4021, 0, 'service', 'job', '{what} handled {n} items'],
    [4022, 0.6, 'service', 'job', '{what} stopped at item {n}'],
    [4030, 0.3, 'service', 'storage', '{what} is read-only for about {n} minutes'],
    [4031, 0, 'service', 'storage', '{what} takes writes again'],
    [5000, 20, 'service', 'notification', '“{what}” sent to {whom}'],
    [5001, 1, 'service', 'notification', '“{what}” did not reach {whom}'],
    [6000, 0, 'service', 'policy', '“{what}” lets {whom} go on'],
    [6001, 3, 'service', 'policy', '“{what}” stopped {whom}'],
    [6400, 0, 'service', 'policy', '{whom} was told of “{what}”'],
    [6620, 0.3, 'service', 'agent', '{what} registered with {n} disks'],
  ];

export const demoActivities: ReadonlyMap<number, DemoActivity> = new Map(
  rows.map(([code, weight, by, target, message]) => [
    code,
    { code, title: titleOf(code), weight, by, target, message },
  ]),
);

/** What comes of an activity in the same flow: which, how likely, and after how many seconds at most. */
export const consequences: ReadonlyMap<number, readonly [code: number, chance: number, seconds: number]> =
  new Map([
    [1011, [1012, 0.9, 600]],
    [2000, [6000, 0.2, 0.09]],
    [2002, [6000, 0.2, 0.09]],
    [1200, [1201, 0.8, 7200]],
    [2110, [2111, 1, 3000]],
    [4001, [4000, 1, 120]],
    [4020, [4021, 0.97, 240]],
    [4030, [4031, 1, 1800]],
    [6001, [6400, 0.8, 3]],
    [6401, [6402, 0.7, 3600]],
    [6410, [6411, 1, 1800]],
  ]);

const warnings = new Set([
  1002, 1005, 1006, 1020, 1030, 1102, 1103, 1221, 1231, 1302, 2005, 2006, 2022, 2101, 3002, 3012, 4001, 4010,
  5001, 6001, 6102, 6103, 6104, 6201, 6202, 6400, 6403, 6410,
]);
const errors = new Set([2112, 4002, 4022]);

/** The level that events of a code have. */
export function levelOf(code: number): 'INFO' | 'WARN' | 'ERROR' {
  if (errors.has(code)) return 'ERROR';
  return warnings.has(code) ? 'WARN' : 'INFO';
}

/** Result codes of activities that tell of a failure; all others have 200. */
export const failures: ReadonlyMap<number, number> = new Map([
  [1002, 401],
  [1102, 401],
  [2112, 500],
  [3012, 402],
  [4002, 503],
  [4022, 500],
  [5001, 550],
  [6001, 403],
  [6403, 403],
]);

/** A transfer: a start, then its completion, its failure, or nothing more. */
export interface DemoTransfer {
  readonly kind: 'upload' | 'download' | 'stream';
  readonly started: number;
  readonly completed: number;
  readonly failed: number;
  /** Words of its messages. */
  readonly begins: string;
  readonly done: string;
}

export const demoTransfers: readonly DemoTransfer[] = [
  {
    kind: 'upload',
    started: 2000,
    completed: 2001,
    failed: 2005,
    begins: 'begins to upload',
    done: 'uploaded',
  },
  {
    kind: 'download',
    started: 2002,
    completed: 2003,
    failed: 2006,
    begins: 'begins to download',
    done: 'downloaded',
  },
  { kind: 'stream', started: 2020, completed: 2021, failed: 2022, begins: 'begins to play', done: 'played' },
];

/** Titles come from the registry alone; a code that it does not have is a mistake in these tables. */
export function titleOf(code: number): string {
  const title = activityTitles.get(code);
  if (title === undefined) throw new Error(`no activity has the code ${code}`);
  return title;
}
