const list = { data: [], meta: { total: 0 } };
const without = { actor: 0, ip: 0 };
const lists = { activities: [], actors: [], addresses: [], severities: [], statuses: [], without };

/** Members that an answer must have, by the last part of its path. A proxy may answer anything. */
const examples: Readonly<Record<string, unknown>> = {
  'GET rows': { ...list, meta: { total: 0, settled: '', unsettled: 0 } },
  'GET events': list,
  'GET receipts': list,
  'GET histogram': { data: [], meta: { total: 0, bucket_seconds: 1 } },
  'GET top-values': { data: lists },
  'GET top-files': { data: [] },
  'GET proof': { position: 0, signed_at: '' },
  'GET api-keys': { data: [] },
  'POST api-keys': { id: '', key: '', scopes: [] },
  'POST rotate': { id: '', key: '', scopes: [] },
  'GET users': { data: [] },
  'POST users': { id: '', name: '', email: '' },
  'POST password-link': { token: '', expires_at: '' },
  'GET settings': { id: '', slug: '', name: '', retention: '', receipts: '' },
  'GET whoami': {
    user: { id: '', name: '', role: '' },
    organization: { id: '', slug: '', name: '' },
    time: '',
  },
  'GET sign-on-options': { sign_on: true, passwords: true },
};

export function isAnswer(method: string, path: string, answer: unknown): boolean {
  const name = path.replace(/\?.*/s, '').split('/').at(-1);
  return isLike(answer, examples[`${method} ${name}`]);
}

/** Whether a value has all members of an example, with the same types. */
function isLike(value: unknown, example: unknown): boolean {
  if (example === undefined) return true;
  if (typeof value !== typeof example || Array.isArray(value) !== Array.isArray(example)) return false;
  if (typeof example !== 'object' || example === null || Array.isArray(example)) return true;
  const members = Object(value) as Readonly<Record<string, unknown>>;
  return value !== null && Object.entries(example).every(([name, one]) => isLike(members[name], one));
}
