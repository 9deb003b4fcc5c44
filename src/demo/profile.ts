/** What tells a demo company from another. All of it is data: company.ts says what becomes of it. */
export interface Profile {
  readonly slug: string;
  readonly name: string;
  /** How much goes on by local hour, from midnight, and by local weekday, from Sunday; proportions count. */
  readonly hours: readonly number[];
  readonly week: readonly number[];
  /** The first three numbers of its IPv4 addresses; of the ranges for documentation, so none points at anyone. */
  readonly network: string;
  readonly sites: Readonly<Record<string, Site>>;
  readonly departments: Readonly<Record<string, Department>>;
  /** What the people of a department are; the others are members. */
  readonly roles: Readonly<Record<string, Role>>;
  /** People of other companies: name and e-mail address. */
  readonly guests: readonly (readonly [name: string, email: string])[];
  /** How often something is uploaded, downloaded and streamed, in the measure of the weights in activities.ts. */
  readonly transfers: Readonly<Record<'upload' | 'download' | 'stream', number>>;
  readonly things: Readonly<Record<ThingType, readonly string[]>>;
}

interface Site {
  readonly utcOffsetHours: number;
  /** Name, the part of the e-mail address before the @, and the department. */
  readonly people: readonly (readonly [name: string, local: string, department: string])[];
}

export type Role = 'admin' | 'auditor' | 'member';

/**
 * Folders, and the names of the files in each: `{p}` is one of `things.project`, `{n}` a number up to 60, `{v}` one up
 * to 9, `{m}` a month.
 */
export type Department = Readonly<Record<string, readonly string[]>>;

/** What else events are about; `newcomer` are people who join or leave, and do nothing else. */
export type ThingType =
  | 'policy'
  | 'networkRule'
  | 'storage'
  | 'apiKey'
  | 'group'
  | 'partner'
  | 'agent'
  | 'connection'
  | 'tag'
  | 'form'
  | 'job'
  | 'plan'
  | 'notification'
  | 'setting'
  | 'terms'
  | 'newcomer'
  | 'project';
