import * as fc from 'fast-check';
import { storableString } from '../ocsf/arbitrary.ts';
import { shapedSecrets } from './model.ts';
import { leaf, type Member, type Node, printTree } from './tree.ts';

/** Random source events, rich in secrets of every type, length, place and spelling. */

const spelledNames = (
  'password passwd pwd passphrase old_password newPassword current-password user.password MFA_SECRET otp TOTP secret ' +
  'clientSecret secret-key Secret_Access_Key token access_token refreshToken id_token session.token authToken ' +
  'api_key X-Api-Key Authorization Proxy-Authorization Cookie set-cookie private_key credentials recovery_codes'
).split(' ');
const nearlyNames = [
  'passwords',
  'toke',
  'to\u212aen',
  'otq',
  'tokens',
  'secrets',
  'api',
  'e-otp',
  '_',
  '-.',
  'value',
];
const plainNames = [
  'name',
  'key',
  'value',
  'fileName',
  'fileSize',
  'destination',
  'fileHash',
  'a',
  '',
  'region',
];

/** A string's token with all characters escaped, or only those that must be. */
function tokenOf(text: string, isEscaped: boolean): string {
  if (!isEscaped) return JSON.stringify(text);
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
}

function stringToken(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const isEscaped = fc.nat(5).map((n) => n === 0);
  return fc.tuple(text, isEscaped).map(([one, escaped]) => tokenOf(one, escaped));
}

/** A redacted name, in any case and with separators anywhere. */
const secretName = fc
  .tuple(
    fc.constantFrom(...spelledNames),
    fc.nat(3),
    fc.nat(),
    fc.constantFrom('_', '-', '.', ' ', '\t', '\u00a0', '\u200b', '\ufeff', '\u00ad'),
  )
  .chain(([name, way, place, separator]) => {
    if (way < 2) return fc.constant(name);
    if (way === 2) return fc.mixedCase(fc.constant(name));
    const at = place % (name.length + 1);
    return fc.constant(name.slice(0, at) + separator + name.slice(at));
  });

const anyName = fc.oneof(
  { weight: 3, arbitrary: secretName },
  { weight: 1, arbitrary: fc.constantFrom(...nearlyNames) },
  { weight: 4, arbitrary: fc.constantFrom(...plainNames) },
  { weight: 1, arbitrary: storableString },
);

/** Text with secrets of known shape, alone or between other characters. */
const shapedText = fc
  .array(
    fc.constantFrom(...shapedSecrets, 'Bearer', 'é', 'key:', '"', '\\', 'plain', 'eyJ', 'ghp_short', 'AKIA'),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .chain((words) => fc.constantFrom(' ', '/', '=', '\n', ' é ', '"').map((between) => words.join(between)));

const numberTokens = '0 -0 1 7 123456 1.10 1E5 0.1e-5 12345678901234567890 -9.5e+20'.split(' ');
const leafNode: fc.Arbitrary<Node> = fc
  .oneof(
    fc.constantFrom('true', 'false', 'null', '""', '"x"', '"123456"', '"Bearer abc.def"'),
    fc.constantFrom(...numberTokens),
    stringToken(storableString),
    stringToken(shapedText),
    fc.nat(300).map((length) => `"${'s'.repeat(length)}"`),
  )
  .map(leaf);

const memberOfTokens = (name: fc.Arbitrary<string>, value: fc.Arbitrary<Node>): fc.Arbitrary<Member> =>
  fc.tuple(stringToken(name), value).map(([token, node]) => member(token, node));

function member(token: string, value: Node): Member {
  return { token, name: JSON.parse(token) as string, value };
}

const anyNode = fc.letrec<{ node: Node; pair: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leafNode,
    fc
      .array(fc.oneof(tie('node'), tie('pair')), { maxLength: 4 })
      .map((items): Node => ({ kind: 'list', items })),
    fc
      .array(memberOfTokens(anyName, tie('node')), { maxLength: 5 })
      .map((members): Node => ({ kind: 'object', members })),
  ),
  /** `{"name": <perhaps a secret's name>, "value": …}` with its members in any order, and others between them. */
  pair: fc
    .tuple(
      memberOfTokens(fc.constantFrom('name', 'key', 'Name'), stringToken(anyName).map(leaf)),
      memberOfTokens(fc.constantFrom('value', 'value', 'Value'), tie('node')),
      fc.array(memberOfTokens(anyName, tie('node')), { maxLength: 2 }),
    )
    .chain(([name, value, others]) => fc.shuffledSubarray([name, value, ...others], { minLength: 2 }))
    .map((members): Node => ({ kind: 'object', members })),
}));

const extraNode: fc.Arbitrary<Node> = fc
  .array(memberOfTokens(anyName, fc.oneof(anyNode.node, anyNode.pair)), { maxLength: 7 })
  .map((members) => ({ kind: 'object', members }));

const textNode = stringToken(
  fc.oneof({ weight: 6, arbitrary: storableString }, { weight: 1, arbitrary: shapedText }),
).map(leaf);
const integerNode = (min: number, max: number) => fc.integer({ min, max }).map((n) => leaf(String(n)));

const unknownMember = memberOfTokens(
  fc.oneof(secretName, fc.constantFrom('Value', 'KEY', 'value')),
  fc.oneof(anyNode.node, anyNode.pair),
);

/** An object with some of these members in any order, and perhaps an unknown one. */
function someOf(
  members: Readonly<Record<string, fc.Arbitrary<Node>>>,
  required: readonly string[] = [],
): fc.Arbitrary<Node> {
  const known = Object.entries(members).map(([name, value]) =>
    value.map((node) => member(JSON.stringify(name), node)),
  );
  const all = [...known, unknownMember];
  return fc
    .tuple(...all)
    .chain((drawn) => {
      const must = drawn.filter(({ name }) => required.includes(name));
      const may = drawn.filter(({ name }) => !required.includes(name));
      return fc.shuffledSubarray(may).chain((some) => {
        const chosen = [...must, ...some];
        return fc.shuffledSubarray(chosen, { minLength: chosen.length });
      });
    })
    .map((chosen): Node => ({ kind: 'object', members: chosen }));
}

/** The same instant in every form that producers may send. */
function timeNode(fromMicros: number, lengthMicros: number): fc.Arbitrary<Node> {
  return fc.tuple(fc.nat(lengthMicros - 1), fc.nat(5)).map(([offset, form]) => {
    const micros = fromMicros + offset;
    const iso = new Date(Math.floor(micros / 1000)).toISOString().slice(0, 19);
    const east = new Date(Math.floor(micros / 1000) + 7_200_000).toISOString().slice(0, 19);
    const fraction = String(micros % 1_000_000).padStart(6, '0');
    const forms = [
      String(micros),
      `"${iso}.${fraction}Z"`,
      `"${iso}.${fraction}789Z"`,
      `"${east}.${fraction}+02:00"`,
      `"${east}.${fraction}+0200"`,
      `"${iso.replace('T', ' ')}.${fraction}Z"`,
    ];
    return leaf(forms[form] as string);
  });
}

export interface EventPlan {
  /** Range of the events' times, in Unix microseconds. */
  readonly fromMicros: number;
  readonly lengthMicros: number;
}

const codes = [1001, 2000, 2001, 2002, 2003, 2005, 2020, 2021, 2022, 6001, -5, 9999].map((code) =>
  leaf(String(code)),
);
const addresses = ['"203.0.113.7"', '"::1"', '"AWS Internal"', '"=1+1"', '"fe80::1%eth0"'].map(leaf);

/** Trees of events that the service accepts. */
export function eventNode({ fromMicros, lengthMicros }: EventPlan): fc.Arbitrary<Node> {
  const time = timeNode(fromMicros, lengthMicros);
  const code = fc.constantFrom(...codes);
  const party = someOf({ id: textNode, name: textNode, email: textNode, type: textNode });
  const actor = fc.oneof(textNode, party);
  const message = someOf(
    {
      timestamp: time,
      action: fc.oneof(code, someOf({ code, title: textNode }, ['code'])),
      flow_id: fc.uuid().map((flow) => leaf(JSON.stringify(flow))),
      actor,
      target: fc.oneof(textNode, party),
      result: someOf({
        title: textNode,
        description: textNode,
        code: integerNode(100, 600),
        detail: textNode,
      }),
      remote: someOf({ ip: fc.constantFrom(...addresses), port: integerNode(0, 65_535) }),
      sender: someOf({ file: textNode, email: textNode, hash: textNode }),
      extra: extraNode,
      log: someOf({ provider: textNode, version: textNode }),
      password: fc.constant(leaf('"gone"')),
    },
    ['timestamp', 'action', 'flow_id', 'extra'],
  );
  const level = fc.constantFrom('"INFO"', '"WARN"', '"ERROR"', '"other"').map(leaf);
  return someOf({ time, level, msg: textNode, message, token: anyNode.node }, ['message']);
}

const gaps = fc.array(fc.constantFrom('', ' ', '\n', '\t', '\r\n', '\n    '), { minLength: 1, maxLength: 6 });

/** Texts of such events, with or without white space. */
export function eventText(plan: EventPlan): fc.Arbitrary<string> {
  return fc.tuple(eventNode(plan), fc.oneof(fc.constant(['']), gaps)).map(([node, spaces]) => {
    let turn = 0;
    return printTree(node, () => spaces[turn++ % spaces.length] as string);
  });
}
