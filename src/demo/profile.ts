/** What distinguishes one demo company from another: data alone. A list in a text has `; ` between its entries. */
export interface Profile {
  readonly slug: string;
  readonly name: string;
  /** How much goes on by local hour, from midnight, and by local weekday, from Sunday; proportions count. */
  readonly hours: readonly number[];
  readonly week: readonly number[];
  /** The first three numbers of its IPv4 addresses; of the ranges for documentation. */
  readonly network: string;
  /** By city, each person: `name, the part of the e-mail address before the @, department`; guests have a whole address. */
  readonly sites: Readonly<Record<string, string>>;
  readonly utcOffsetHours: Readonly<Record<string, number>>;
  /**
   * The names of the files in each `department/folder`: `{p}` is one of `things.project`, `{n}` a number up to 60, `{v}`
   * one up to 9, `{m}` a month.
   */
  readonly folders: Readonly<Record<string, string>>;
  /** The role of the people of a department; the others are members. */
  readonly roles: Readonly<Record<string, Role>>;
  readonly things: Readonly<Record<ThingType, string>>;
}

export type Role = 'admin' | 'auditor' | 'member';

/** Other targets of events; a `newcomer` joins or leaves, and does nothing else. */
export type ThingType =
  | ('policy' | 'networkRule' | 'storage' | 'apiKey' | 'group' | 'tag')
  | ('form' | 'job' | 'notification' | 'setting' | 'terms' | 'newcomer' | 'project');

/** The entries of a list in a text. */
export const listOf = (text: string): string[] => text.split(/;\s+/);
