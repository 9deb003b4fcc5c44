import type { ThingType } from './things.ts';

/** Who does it: anyone at work, administrators, programs, guests, or support staff of the vendor. */
type Doer = 'anyone' | 'admin' | 'service' | 'guest';

/** An activity of one event. */
export interface DemoActivity {
  readonly code: number;
  readonly title: string;
  /** How often, compared with the others. */
  readonly weight: number;
  readonly by: Doer;
  /** What it is about: a thing of the organization, another person, a file, or the organization itself. */
  readonly target: ThingType | 'person' | 'file' | 'folder' | 'organization' | 'self';
  readonly level?: 'WARN' | 'ERROR';
  /** The result where it always is this; otherwise 200, and now and then 403. */
  readonly result?: readonly [code: number, title: string, description: string];
}

function activity(
  code: number,
  title: string,
  weight: number,
  by: Doer,
  target: DemoActivity['target'],
  more: Pick<DemoActivity, 'level' | 'result'> = {},
): DemoActivity {
  return { code, title, weight, by, target, ...more };
}

const denied = [403, 'Denied', 'The policy does not allow this'] as const;
const failedJob = [500, 'Failed', 'The job ended before it was done'] as const;

/** Single-step activities of every family of the contract (contract: Events). Transfers and logins have flows. */
export const demoActivities: readonly DemoActivity[] = [
  activity(1000, 'User created', 3, 'admin', 'person'),
  activity(1004, 'User updated', 4, 'admin', 'person'),
  activity(1006, 'User disabled', 1, 'admin', 'person', { level: 'WARN' }),
  activity(1010, 'Password changed', 4, 'anyone', 'self'),
  activity(1020, 'Role changed', 2, 'admin', 'person', { level: 'WARN' }),
  activity(1100, 'MFA set up', 3, 'anyone', 'self'),
  activity(1103, 'MFA disabled', 1, 'admin', 'person', { level: 'WARN' }),
  activity(1200, 'Invitation sent', 4, 'admin', 'person'),
  activity(1210, 'Member added', 3, 'admin', 'group'),
  activity(1221, 'Identity-provider connection updated', 1, 'admin', 'connection', { level: 'WARN' }),
  activity(1232, 'SCIM user provisioned', 8, 'service', 'person'),
  activity(1300, 'API key created', 3, 'admin', 'apiKey'),
  activity(1302, 'API key revoked', 1, 'admin', 'apiKey', { level: 'WARN' }),
  activity(1303, 'API key rotated', 4, 'service', 'apiKey'),
  activity(2004, 'File accessed', 95, 'anyone', 'file'),
  activity(2010, 'File deleted', 14, 'anyone', 'file'),
  activity(2100, 'Storage created', 1, 'admin', 'storage'),
  activity(2102, 'Storage updated', 2, 'admin', 'storage'),
  activity(2111, 'Backup completed', 12, 'service', 'storage'),
  activity(2112, 'Backup failed', 1, 'service', 'storage', { level: 'ERROR', result: failedJob }),
  activity(3001, 'Subscription changed', 1, 'admin', 'plan'),
  activity(3010, 'Payment method updated', 1, 'admin', 'plan'),
  activity(3011, 'Payment succeeded', 1, 'service', 'plan'),
  activity(3020, 'Trial started', 1, 'admin', 'plan'),
  activity(4002, 'Health check failed', 2, 'service', 'agent', {
    level: 'ERROR',
    result: [503, 'Unavailable', 'No answer within 5 s'],
  }),
  activity(4010, 'Configuration changed', 3, 'admin', 'setting', { level: 'WARN' }),
  activity(4021, 'Job completed', 40, 'service', 'job'),
  activity(4022, 'Job failed', 2, 'service', 'job', { level: 'ERROR', result: failedJob }),
  activity(5000, 'Notification sent', 45, 'service', 'notification'),
  activity(5001, 'Notification failed', 2, 'service', 'notification', {
    level: 'WARN',
    result: [550, 'Undelivered', 'The mailbox does not exist'],
  }),
  activity(5011, 'Organization settings updated', 2, 'admin', 'organization'),
  activity(5020, 'Organization locked', 0.3, 'admin', 'organization', { level: 'WARN' }),
  activity(6000, 'Policy allowed', 70, 'service', 'policy'),
  activity(6001, 'Policy denied', 12, 'service', 'policy', { level: 'WARN', result: denied }),
  activity(6100, 'Policy created', 1, 'admin', 'policy'),
  activity(6101, 'Policy updated', 3, 'admin', 'policy'),
  activity(6103, 'Policy activated', 2, 'admin', 'policy', { level: 'WARN' }),
  activity(6106, 'Policy exported', 1, 'admin', 'policy'),
  activity(6200, 'Network rule created', 1, 'admin', 'networkRule'),
  activity(6201, 'Network rule updated', 2, 'admin', 'networkRule', { level: 'WARN' }),
  activity(6203, 'Network rules listed', 6, 'admin', 'networkRule'),
  activity(6300, 'Drive object created', 18, 'anyone', 'folder'),
  activity(6301, 'Drive object accessed', 60, 'anyone', 'folder'),
  activity(6304, 'Drive object shared', 20, 'anyone', 'file'),
  activity(6303, 'Drive object downloaded', 14, 'guest', 'file'),
  activity(6307, 'Policy attached to drive object', 3, 'admin', 'folder'),
  activity(6400, 'Policy denial notified', 4, 'service', 'policy', { level: 'WARN' }),
  activity(6401, 'Gate approval requested', 4, 'anyone', 'policy'),
  activity(6402, 'Gate approved', 3, 'admin', 'policy'),
  activity(6500, 'Terms accepted', 3, 'anyone', 'terms'),
  activity(6501, 'Terms retrieved', 4, 'guest', 'terms'),
  activity(6600, 'Partner created', 1, 'admin', 'partner'),
  activity(6611, 'Project updated', 4, 'anyone', 'project'),
  activity(6620, 'Agent registered', 1, 'service', 'agent'),
  activity(6631, 'Group updated', 3, 'admin', 'group'),
  activity(6640, 'External identity linked', 2, 'guest', 'connection'),
  activity(6700, 'Data-flow information read', 8, 'admin', 'project'),
  activity(6710, 'Platform tag created', 2, 'admin', 'tag'),
  activity(6711, 'Platform tag updated', 3, 'anyone', 'tag'),
  activity(6723, 'Platform form published', 1, 'admin', 'form'),
  activity(6724, 'Platform form submitted', 10, 'guest', 'form'),
];

/** A transfer: a start, then its completion, its failure, or nothing more. */
export interface DemoTransfer {
  readonly kind: 'upload' | 'download' | 'stream';
  readonly started: readonly [code: number, title: string];
  readonly completed: readonly [code: number, title: string];
  readonly failed: readonly [code: number, title: string];
  readonly weight: number;
}

export const demoTransfers: readonly DemoTransfer[] = [
  {
    kind: 'upload',
    started: [2000, 'Upload started'],
    completed: [2001, 'Upload completed'],
    failed: [2005, 'Upload failed'],
    weight: 90,
  },
  {
    kind: 'download',
    started: [2002, 'Download started'],
    completed: [2003, 'Download completed'],
    failed: [2006, 'Download failed'],
    weight: 110,
  },
  {
    kind: 'stream',
    started: [2020, 'Stream started'],
    completed: [2021, 'Stream completed'],
    failed: [2022, 'Stream failed'],
    weight: 35,
  },
];

/** Logins, compared with the weights above; each is one to four events. */
export const loginWeight = 95;
