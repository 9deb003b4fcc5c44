/** The data of one demo company. A list in a text is separated by `; `. */
export interface Profile {
  readonly slug: string;
  readonly name: string;
  /** Relative load by local hour (from midnight) and local weekday (from Sunday). */
  readonly hours: readonly number[];
  readonly week: readonly number[];
  /** The first three numbers of its IPv4 addresses, from documentation ranges. */
  readonly network: string;
  /**
   * By city, each person: `name, local part of the e-mail address, department`; guests have a whole address.
   */
  readonly sites: Readonly<Record<string, string>>;
  readonly utcOffsetHours: Readonly<Record<string, number>>;
  /**
   * File names of each `department/folder`: `{p}` is one of `things.project`, `{n}` a number up to 60, `{v}`
   * one up to 9, `{m}` a month.
   */
  readonly folders: Readonly<Record<string, string>>;
  /** Role by department; others are members. */
  readonly roles: Readonly<Record<string, Role>>;
  readonly things: Readonly<Record<ThingType, string>>;
}

export type Role = 'admin' | 'auditor' | 'member';

/** Other targets; a `newcomer` joins or leaves, and does nothing else. */
export type ThingType =
  | ('policy' | 'networkRule' | 'storage' | 'apiKey' | 'group' | 'tag')
  | ('form' | 'job' | 'notification' | 'setting' | 'terms' | 'newcomer' | 'project');

/** The entries of a list in a text. */
export const listOf = (text: string): string[] => text.split(/;\s+/);
