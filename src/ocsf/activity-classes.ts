/**
 * OCSF 1.1.0 class and activity of each code; activity 99 ("Other") gets our name. Any other code is an API
 * Activity, `other`.
 */
export interface ActivityClass {
  readonly classUid: OcsfClassUid;
  readonly activityId: number;
  /** Authentication: by a further factor. */
  readonly isMfa?: true;
  readonly privilege?: string;
}

export const ocsfClass = {
  account: 3001,
  authentication: 3002,
  session: 3003,
  entity: 3004,
  access: 3005,
  group: 3006,
  application: 6002,
  api: 6003,
  file: 6006,
} as const;
export type OcsfClassUid = (typeof ocsfClass)[keyof typeof ocsfClass];

const other = 99;

type Rows = readonly (readonly [activityId: number, codes: readonly number[]])[];

function rowsOf(
  classUid: OcsfClassUid,
  rows: Rows,
  marks: Omit<ActivityClass, 'classUid' | 'activityId'> = {},
): [number, ActivityClass][] {
  return rows.flatMap(([activityId, codes]) =>
    codes.map((code): [number, ActivityClass] => [code, { classUid, activityId, ...marks }]),
  );
}

/** Account Change: 1 create, 2 enable, 3 password change, 4 password reset, 5 disable, 6 delete, 9 lock, 10 and 11 MFA. */
const account: Rows = [
  [1, [1000, 1232]],
  [2, [1007]],
  [3, [1010]],
  [4, [1012]],
  [5, [1006]],
  [6, [1005, 1233]],
  [9, [1009]],
  [10, [1100]],
  [11, [1103]],
  [other, [1004, 1008, 1011, 1013, 1104, 6640, 6641]],
];

/** File Hosting Activity: 1 upload, 2 download, 4 delete, 12 share, 13 unshare, 14 open. */
const file: Rows = [
  [1, [2000, 2001, 2005, 6302]],
  [2, [2002, 2003, 2006, 6303]],
  [4, [2010, 6306]],
  [12, [6304]],
  [13, [6305]],
  [14, [2004, 2020, 2021, 2022, 6301]],
  [other, [6300]],
];

/** API Activity: 1 create, 2 read, 3 update, 4 delete. */
const api: Rows = [
  [1, [1200, 1220, 1300, 2100, 3000, 5010, 6200, 6600, 6610, 6620, 6710, 6720, 6724]],
  [2, [2030, 6203, 6501, 6700]],
  [3, [1201, 1221, 1303, 2102, 3001, 3010, 5011, 5013, 6201, 6307, 6601, 6611, 6711, 6721, 6723]],
  [4, [1202, 1222, 1301, 1302, 2101, 5012, 6202, 6602, 6612, 6621, 6712, 6722]],
  [other, [1230, 1231]],
  [other, [2110, 2111, 2112, 2113, 3002, 3011, 3012, 3020, 3021]],
  [other, [4020, 4021, 4022, 4040, 4041, 5000, 5001, 5014, 5015, 5016, 5017, 5018, 5020, 5021]],
  [other, [6000, 6001, 6400, 6401, 6402, 6403, 6500]],
];

/** A test checks that every code of activities.ts is here. */
export const activityClasses: ReadonlyMap<number, ActivityClass> = new Map([
  ...rowsOf(ocsfClass.account, account),
  // 1 logon, 2 logoff.
  ...rowsOf(ocsfClass.authentication, [
    [1, [1001, 1002]],
    [2, [1003]],
  ]),
  ...rowsOf(ocsfClass.authentication, [[other, [1101, 1102]]], { isMfa: true }),
  ...rowsOf(ocsfClass.session, [[other, [1030]]], { privilege: 'session' }),
  // 1 assign privileges, 2 revoke privileges.
  ...rowsOf(
    ocsfClass.access,
    [
      [1, [1020]],
      [2, [1021]],
    ],
    { privilege: 'role' },
  ),
  // 1 create, 2 read, 3 update, 4 delete.
  ...rowsOf(ocsfClass.entity, [
    [1, [6100, 6105]],
    [2, [6106]],
    [3, [6101]],
    [4, [6102]],
    [other, [6103, 6104]],
  ]),
  ...rowsOf(
    ocsfClass.access,
    [
      [1, [6410]],
      [2, [6411]],
    ],
    { privilege: 'support access' },
  ),
  // 3 add user, 4 remove user, 5 delete, 6 create.
  ...rowsOf(ocsfClass.group, [
    [3, [1210]],
    [4, [1211]],
    [5, [6632]],
    [6, [6630]],
    [other, [6631]],
  ]),
  // 3 start, 4 stop.
  ...rowsOf(ocsfClass.application, [
    [3, [4000]],
    [4, [4001]],
    [other, [4002, 4010, 4030, 4031]],
  ]),
  ...rowsOf(ocsfClass.api, api),
  ...rowsOf(ocsfClass.file, file),
]);

/** The index is the activity of API Activity. */
const verbs = ['other', 'create', 'read', 'update', 'delete'] as const;
export type Verb = (typeof verbs)[number];

const textActivities: readonly ActivityClass[] = verbs.map((_, index) => ({
  classUid: ocsfClass.api,
  activityId: index === 0 ? other : index,
}));

/** Codes of texts are above all others, 2^32 for each verb. */
const textCodesFrom = 1_000_000_000;
const codesOfVerb = 2 ** 32;

/** The code of a text, from its verb and 32 bits of its hash (contract: Source adapters). */
export function textCode(hash: number, verb: Verb): number {
  return textCodesFrom + verbs.indexOf(verb) * codesOfVerb + hash;
}

const otherActivity: ActivityClass = textActivities[0] as ActivityClass;

export const allActivities: readonly ActivityClass[] = [
  ...new Set([...activityClasses.values(), ...textActivities]),
];

export function activityClassOf(code: number): ActivityClass {
  const known = activityClasses.get(code);
  if (known !== undefined) return known;
  return textActivities[Math.floor((code - textCodesFrom) / codesOfVerb)] ?? otherActivity;
}
