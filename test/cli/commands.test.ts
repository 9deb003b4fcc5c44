import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import type { CliDeps } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/program.ts';
import { commandWith } from '../../src/cli/repeat.ts';
import { variables } from '../../src/config/variables.ts';
import { formatVersion } from '../../src/ingest/segment.ts';
import type { EngineConnection } from '../../src/storage/storage.ts';
import { cliCommand } from '../support/cli-command.ts';
import { createRecorder } from '../read/support.ts';
import { openDirectory } from '../support/control.ts';
import { startTestEngine, type TestEngine } from '../support/engine.ts';
import { eventsBehind, type OwnEvent } from '../support/journal-events.ts';
import { holdOutput } from '../support/openapi.ts';
import { everyCommand } from './every-command.ts';
import '../support/strict-writer.cjs';
import { projectRoot } from '../support/project-root.ts';

/** Commands in this process, beside an engine without a server: their events are only in the journal. */

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine();
});
after(() => engine?.stop());

interface Answer {
  readonly code: number;
  readonly out: string;
  readonly error: string;
  readonly events: readonly OwnEvent[];
}

async function run(
  args: readonly string[],
  more: { stdin?: string; environment?: Record<string, string> } = {},
): Promise<Answer> {
  const said = { out: '', error: '' };
  const { place } = await openDirectory(engine.storage);
  const unexpected = () => Promise.reject(new Error('not for this command'));
  const deps: CliDeps = {
    environment: { DATA_DIR: engine.dataDir, ...more.environment },
    io: {
      out: (text) => {
        said.out += text;
      },
      error: (text) => {
        said.error += text;
      },
      output: process.stdout,
      input: Readable.from(more.stdin === undefined ? [] : [more.stdin]),
    },
    recordEvents: unexpected,
    eventEnvelope: () => ({ head: '', tail: '' }),
    startService: unexpected,
    untilStopped: unexpected,
  };
  const code = await runCli(args, deps);
  holdOutput(args, said.out);
  const { texts } = await eventsBehind(engine.storage, place);
  return { code, ...said, events: texts.map((text) => JSON.parse(text) as OwnEvent) };
}

/** The JSON output of a command; it must succeed without a message. */
async function json(args: readonly string[], stdin?: string): Promise<Record<string, unknown>> {
  const answer = await run([...args, '--json'], stdin === undefined ? {} : { stdin });
  assert.deepEqual([answer.code, answer.error], [0, '']);
  assert.equal(answer.out.trim().split('\n').length, 1);
  return JSON.parse(answer.out);
}

async function list(args: readonly string[]): Promise<Record<string, unknown>[]> {
  return (await json(args)) as unknown as Record<string, unknown>[];
}

/** The first run records these actions; a repeat changes and records nothing, and prints the same. */
async function recordsOnce(args: readonly string[], ...expected: readonly (number | { stdin: string })[]) {
  const actions = expected.filter((one) => typeof one === 'number');
  const more = expected.find((one) => typeof one === 'object');
  const first = await run(args, more);
  assert.equal(first.code, 0, first.error);
  const codes = first.events.map(({ message }) => message.action);
  assert.deepEqual(codes, actions);
  const second = await run(args, more);
  assert.deepEqual([second.code, second.out, second.events], [0, first.out, []]);
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const user = 'user create --org cli --name Ann --role admin --password-stdin --email'.split(' ');

describe('organizations', () => {
  test('create prints id, slug and name, and is recorded', async () => {
    const answer = await run(['org', 'create', '--slug', 'cli', '--name', 'Command Line', '--json']);
    const { id, ...rest } = JSON.parse(answer.out);
    assert.match(id, uuid);
    assert.deepEqual(rest, { slug: 'cli', name: 'Command Line' });
    assert.deepEqual(
      answer.events.map(({ message }) => [message.action, message.org]),
      [[5010, id]],
    );
  });

  test('a hold that is placed again is recorded once, and one for another reason is refused', async () => {
    await json(['org', 'create', '--org', 'held', '--name', 'Held']);
    const hold = ['org', 'hold', '--org', 'held', '--json', '--reason'];
    await recordsOnce([...hold, 'a case'], 5014);
    const other = await run([...hold, 'another']);
    assert.deepEqual([other.code, other.events], [1, []]);
    assert.match(other.error, /is held already: a case/);
  });

  test('set and sign-on set, each recorded once', async () => {
    await json(['org', 'create', '--org', 'once', '--name', 'Once']);
    const set = ['org', 'set', '--org', 'once', '--json'];
    await recordsOnce([...set, '--receipts', 'off'], 5011);
    await recordsOnce([...set, '--retention', '400d'], 5011, 5013);
    await recordsOnce([...set, '--passwords', 'off', '--force'], 1221);
    const signOn = ['sign-on', 'set', '--org', 'once', '--json'];
    await recordsOnce([...signOn, '--create', 'on', '--role-claim', 'groups', '--admin-values', 'a,b'], 1221);
    const own = ['--issuer', 'https://id.example', '--client-id', 'audit', '--client-secret-stdin'];
    await recordsOnce([...signOn, ...own], { stdin: 'a secret of the client' }, 1221);
    const other = await run([...signOn, ...own], { stdin: 'another secret' });
    assert.equal(other.events.length, 1);
  });

  test('set applies all options, or none', async () => {
    await json(['org', 'create', '--org', 'two-changes', '--name', 'Two']);
    const set = ['org', 'set', '--org', 'two-changes', '--passwords', 'off', '--force'];
    const wrong = await run([...set, '--receipts', 'bogus']);
    assert.deepEqual([wrong.code, wrong.events], [2, []]);
    const { id } = await json(['org', 'show', '--org', 'two-changes']);
    const passwords = async () => (await openDirectory(engine.storage)).signOnOf(String(id)).passwords;

    const old = '2020-01-01 00:00:00.000000';
    await engine.storage.insertRows('events', [{ org: id, seq: '1', time: old, source: '{}', ocsf: '{}' }]);
    const refused = await run([...set, '--retention', '1d']);
    assert.notEqual(refused.code, 0);
    assert.match(refused.error, /^auditlog: This would permanently delete 1 stored event: confirm/);
    const repeated = [...set, '--retention', '1d', '--confirm', '1'];
    assert.equal(refused.error.split('\n')[1], `auditlog: to do it: auditlog ${repeated.join(' ')}`);
    const dry = await run([...set, '--retention', '1d', '--dry-run']);
    assert.match(
      dry.out,
      new RegExp(`1 stored event .* be removed\nto do it: auditlog ${repeated.join(' ')}\n$`),
    );
    assert.deepEqual([refused.events, await passwords()], [[], true]);
    const done = await run(repeated);
    assert.equal(done.code, 0, done.error);
    const codes = done.events.map(({ message }) => message.action);
    assert.deepEqual([codes, await passwords()], [[1221, 5011, 5013], false]);
  });

  test('a printed command to repeat can be pasted into a shell, without replaced options', () => {
    const args = ['org', 'set', '--name', "It's $HOME", '--confirm', '4', '--dry-run', '--org=a'];
    const expected = String.raw`auditlog org set --name 'It'\''s $HOME' --org=a --confirm 5`;
    assert.equal(commandWith(args, '--confirm', '5'), expected);
    const words = spawnSync('sh', ['-c', expected.replace('auditlog', String.raw`printf '%s\n'`)], {
      encoding: 'utf8',
    });
    assert.deepEqual(words.stdout.split('\n').slice(0, 4), ['org', 'set', '--name', "It's $HOME"]);
  });

  test('delete names the command that looks first, which names the one that deletes', async () => {
    await json(['org', 'create', '--org', 'goes', '--name', 'Goes']);
    const refused = await run(['org', 'delete', '--org', 'goes']);
    assert.deepEqual(
      [refused.code, refused.error],
      [2, 'auditlog: see first what would be removed: auditlog org delete --org goes --dry-run\n'],
    );
    const dry = await run(['org', 'delete', '--org', 'goes', '--dry-run']);
    assert.match(dry.out, /\nto do it: auditlog org delete --org goes --confirm 0\n$/);
  });

  test('set and list show the policy', async () => {
    await json(['org', 'set', '--org', 'cli', '--retention', '90d', '--receipts', 'off']);
    const views = await list(['org', 'list']);
    const { id, created_at, ...rest } = views.find(({ slug }) => slug === 'cli') ?? {};
    const policy = { retention: '90d', kept_days: 90, hold: null };
    assert.deepEqual(rest, { slug: 'cli', name: 'Command Line', ...policy, receipts: 'off' });
    assert.match(String(id), uuid);
    assert.match(String(created_at), time);
    const table = await run(['org', 'list']);
    assert.match(table.out, /^SLUG +NAME +RETENTION/);
    assert.match(table.out, /\ncli +Command Line +90d +off/);
  });

  test('show has what retention is about to remove', async () => {
    const show = ['org', 'show', '--org', 'cli'];
    const { id, planned_removal } = await json(show);
    assert.equal(planned_removal, undefined);
    await engine.storage.insertRows('running_time', [{ id: 0, running: 1_000_000 }]);
    const due = 1_000_000 + 2.5 * 3_600_000;
    await engine.storage.insertRows('planned_removals', [{ id, before: 86_400_000_000, events: 1234, due }]);
    const removal = { events: 1234, before: '1970-01-02T00:00:00.000000Z', in_seconds: 9000 };
    assert.deepEqual((await json(show))['planned_removal'], removal);
    const text = /^planned removal {2}1,?234 events .*: after servers have run for 3 more hours$/m;
    assert.match((await run(show)).out, text);
    assert.equal((await run(['org', 'show', '--org', 'nobody'])).code, 1);
  });
});

test('init makes an organization, an administrator and a key, and shows how to go on', async () => {
  const made = await run(['init', '--org', 'first', '--email', 'ops@first.example']);
  assert.deepEqual([made.code, made.error], [0, '']);
  const [key = ''] = /ak_\w{16}_[\w-]{43}/.exec(made.out) ?? [];
  assert.ok(made.out.includes(`curl -s http://127.0.0.1:8080/api/v1/audit -H 'X-API-Key: ${key}'`), made.out);
  assert.deepEqual(
    made.events.map(({ message }) => message.action),
    [5010, 1000, 1300],
  );
  const views = await list(['user', 'list', '--org', 'first']);
  assert.deepEqual([views[0]?.['email'], views[0]?.['role']], ['ops@first.example', 'admin']);
  const quoted = await run(['init', '--org', 'quoted', '--email', "o'brien@first.example"]);
  const lines = quoted.out.slice(quoted.out.indexOf('curl'));
  assert.equal(spawnSync('sh', ['-n'], { input: lines }).status, 0, lines);
  const json2 = await json(['init', '--org', 'second', '--email', 'ops@first.example', '--name', 'Second']);
  assert.deepEqual(Object.keys(json2), ['organization', 'email', 'password', 'key']);
  assert.equal((await run(['init', '--org', 'third', '--email', 'nobody'])).code, 2);
  assert.equal((await run(['user', 'list', '--org', 'third'])).code, 1, 'made in spite of the address');
});

describe('users', () => {
  test('create prints the user and takes the password from standard input only', async () => {
    const { id, ...rest } = await json([...user, 'ann@example.com'], 'correct horse battery\n');
    assert.match(String(id), uuid);
    assert.deepEqual(rest, { organization: 'cli', email: 'ann@example.com', name: 'Ann', role: 'admin' });
    const short = await run([...user, 'bob@example.com'], { stdin: 'short\n' });
    assert.deepEqual([short.code, short.out], [2, '']);
    assert.match(short.error, /^auditlog: the password must have at least 12 characters\n$/);
    const none = await run(['user', 'set-password', 'ann@example.com']);
    assert.equal(none.code, 2);
    assert.match(none.error, /--password-stdin/);
  });

  test('create looks at organization, address and role before it asks for the password', async () => {
    // Without --password-stdin and without a terminal, the prompt would fail otherwise.
    const ask = user.filter((arg) => arg !== '--password-stdin');
    const swapped = (from: string, to: string) => ask.map((arg) => (arg === from ? to : arg));
    for (const [args, code, words] of [
      [[...swapped('cli', 'nobody'), 'new@example.com'], 1, /no organization "nobody"/],
      [[...ask, 'nobody'], 2, /email must be/],
      [[...swapped('admin', 'chief'), 'new@example.com'], 2, /role must be/],
      [[...ask, 'ANN@example.com'], 1, /is a user of cli already/],
      [[...ask, 'new@example.com'], 2, /--password-stdin/],
    ] as const) {
      const answer = await run(args);
      assert.equal(answer.code, code, answer.error);
      assert.match(answer.error, words);
    }
  });

  test('list, set-password and disable', async () => {
    const changed = await run(['user', 'set-password', 'ann@example.com', '--password-stdin', '--json'], {
      stdin: 'another horse battery',
    });
    assert.deepEqual([changed.code, changed.events.map(({ message }) => message.action)], [0, [1010]]);
    const last = await run(['user', 'disable', 'ann@example.com']);
    assert.match(last.error, /^auditlog: This is the last administrator of the organization.\n$/);
    await json([...user, 'boss@example.com'], 'correct horse battery\n');
    const { id, disabled_at } = await json(['user', 'disable', '--org', 'cli', '--email', 'ann@example.com']);
    assert.match(String(disabled_at), time);
    const [view] = await list(['user', 'list', '--org', 'cli']);
    assert.deepEqual([view?.['id'], view?.['disabled_at'], view?.['organization']], [id, disabled_at, 'cli']);
    assert.ok(!JSON.stringify(view).includes('argon2'));
  });

  test('disable, enable and set-role, each recorded once, and not where nothing changes', async () => {
    const ann = ['ann@example.com', '--org', 'cli', '--json'];
    await recordsOnce(['user', 'enable', ...ann], 1007);
    await recordsOnce(['user', 'disable', ...ann], 1006);
    await recordsOnce(['user', 'enable', ...ann], 1007);
    await recordsOnce(['user', 'set-role', ...ann, '--role', 'member'], 1020);
    const [view] = await list(['user', 'list', '--org', 'cli']);
    assert.deepEqual([view?.['disabled_at'], view?.['role']], [null, 'member']);
  });

  test('a password typed at a terminal is asked twice and never shown', async () => {
    const typed = new PassThrough();
    const modes: boolean[] = [];
    const terminal = Object.assign(typed, { isTTY: true, setRawMode: (mode: boolean) => modes.push(mode) });
    let shown = '';
    const parts = {
      environment: { DATA_DIR: engine.dataDir },
      io: {
        out: () => undefined,
        error: (text: string) => {
          shown += text;
          if (text.endsWith(': '))
            setImmediate(() => typed.write('correct hirse\u007f\u007f\u007f\u007forse battery\r'));
        },
        output: process.stdout,
        input: terminal,
      },
      recordEvents: async () => undefined,
      eventEnvelope: () => ({ head: '', tail: '' }),
      startService: () => Promise.reject(new Error('no')),
      untilStopped: () => Promise.reject(new Error('no')),
    };
    const args = user.filter((arg) => arg !== '--password-stdin');
    assert.equal(await runCli([...args, 'typed@example.com'], parts), 0);
    assert.equal(shown, 'Password: \nAgain: \n');
    assert.deepEqual(modes, [true, false, true, false]);
  });
});

describe('keys', () => {
  test('create, list, rotate and revoke', async () => {
    const made = await json(['key', 'create', '--org', 'cli', '--scopes', 'read,write', '--expires', '90d']);
    assert.deepEqual(Object.keys(made), ['id', 'key', 'organization', 'scopes', 'expires_at']);
    assert.match(String(made['key']), /^ak_[0-9a-z]{16}_[A-Za-z0-9_-]{43}$/);
    assert.deepEqual([made['organization'], made['scopes']], ['cli', ['read', 'write']]);
    const aheadMs = Date.parse(String(made['expires_at'])) - Date.now();
    assert.ok(Math.abs(aheadMs - 90 * 86_400_000) < 60_000);
    const id = String(made['id']);

    const rotated = await json(['key', 'rotate', id, '--grace', '1h']);
    assert.equal(rotated['id'], id);
    assert.notEqual(rotated['key'], made['key']);
    assert.equal(rotated['expires_at'], made['expires_at']);
    await recordsOnce(['key', 'revoke', id, '--json'], 1302);
    const revoked = await json(['key', 'revoke', id]);
    assert.deepEqual(Object.keys(revoked), ['id', 'revoked_at']);
    assert.match(String(revoked['revoked_at']), time);
    const [view] = await list(['key', 'list', '--org', 'cli']);
    assert.equal(view?.['revoked_at'], revoked['revoked_at']);
    assert.ok(!('key' in (view ?? {})));
    assert.match((await run(['key', 'list'])).out, new RegExp(`${id} +cli +read,write .*revoked`));
  });

  test('a key of all organizations only writes and has no event', async () => {
    const answer = await run(['key', 'create', '--all-organizations', '--scopes', 'write', '--json']);
    const made = JSON.parse(answer.out);
    assert.deepEqual([made.organization, made.scopes, made.expires_at], [null, ['write'], null]);
    assert.deepEqual(answer.events, []);
  });

  test('for people: the key and that it is shown once', async () => {
    const { out } = await run(['key', 'create', '--org', 'cli', '--scopes', 'read']);
    assert.match(
      out,
      /^API key \w{16} of cli \(read\), no expiry\nak_\w+.*\nThe key is shown this once only\.\n$/,
    );
  });
});

test('a failed write of output is one line, and the command fails', () => {
  const command = [process.execPath, ...cliCommand, 'completion', 'bash']
    .map((word) => `'${word}'`)
    .join(' ');
  const { status, stderr } = spawnSync('sh', ['-c', `${command} > /dev/full`], { encoding: 'utf8' });
  assert.deepEqual([status, stderr], [1, 'auditlog: standard output: the disk is full\n']);
});

test('summarize counts values, files and the range before under the filters of reads, and prints text of events as text', async () => {
  const { id } = await json(['org', 'create', '--org', 'counted', '--name', 'Counted']);
  const event = (timestamp: string, ip: string, rest: object = {}) => ({
    message: { timestamp, action: 2003, actor: 'zoe@x.test', remote: { ip }, ...rest },
  });
  await createRecorder(engine.storage)(String(id), [
    event('2024-05-05T23:59:00Z', '10.0.0.1'),
    event('2024-05-06T01:00:00Z', '10.0.0.2', { target: 'a\u001b[2J.txt', extra: { fileSize: 5 } }),
    event('2024-05-06T02:00:00Z', '10.0.0.2', { actor: { name: 'Nobody' }, result: { code: 500 } }),
  ]);
  const args =
    'summarize --org counted --start-time 2024-05-06T00:00:00Z --end-time 2024-05-06T23:59:59.999999Z'.split(
      ' ',
    );
  const { actors, addresses, files, previous, without, ...rest } = await json(args);
  assert.deepEqual(
    [rest['total'], rest['failure'], previous],
    [
      2,
      1,
      {
        start: '2024-05-05T00:00:00.000000Z',
        end: '2024-05-05T23:59:59.999999Z',
        total: 1,
        failure: 0,
      },
    ],
  );
  const [first_seen, last_seen] = ['2024-05-06T01:00:00.000000Z', '2024-05-06T02:00:00.000000Z'];
  assert.deepEqual(actors, [{ email_addr: 'zoe@x.test', count: 1, first_seen, last_seen: first_seen }]);
  assert.deepEqual(addresses, [{ ip: '10.0.0.2', count: 2, first_seen, last_seen }]);
  assert.deepEqual(files, [
    { name: 'a\u001b[2J.txt', count: 1, bytes: 5, first_seen, last_seen: first_seen },
  ]);
  assert.deepEqual(without, { actor: 1, ip: 0 });
  const { code, out } = await run([...args, '--status', 'success', '--limit', '1']);
  assert.equal(code, 0);
  assert.match(out, /^1 event, 0 failed, from 2024-05-06T00:00:00.000000Z to /);
  assert.match(out, /\nFILE +BYTES +EVENTS .*\na\\u001b\[2J\.txt +5 +1 +2024-05-06T01:00/);
});

describe('exit codes', () => {
  const wrong: readonly (readonly [args: string[], code: number, words: RegExp])[] = [
    [[], 2, /Usage/],
    [['nonsense'], 2, /^auditlog: unknown command/],
    [['key'], 2, /Usage/],
    [['org', 'create', '--slug', 'x'], 2, /--name/],
    [['org', 'create', '--slug', 'X Y', '--name', 'X'], 2, /slug must/],
    [['org', 'set', '--org', 'cli'], 2, /nothing to set/],
    [['org', 'set', '--name', 'X'], 2, /required option '--org <slug>'/],
    [['org', 'set', '--org', 'nobody', '--name', 'X'], 1, /no organization/],
    [['org', 'create', '--slug', 'cli', '--name', 'Again'], 1, /taken/],
    [['org', 'delete', '--org', 'nobody', '--confirm', '1000000000'], 1, /no organization/],
    [['key', 'create', '--org', 'cli', '--scopes', 'own'], 2, /scopes must/],
    [['key', 'create', '--scopes', 'read'], 2, /either/],
    [['key', 'create', '--all-organizations', '--scopes', 'read,write'], 2, /only have the scope write/],
    [['key', 'create', '--org', 'nobody', '--scopes', 'read'], 1, /no organization/],
    [['key', 'rotate', 'nothing'], 1, /no API key/],
    [['key', 'revoke'], 2, /missing required argument/],
    [['user', 'disable'], 2, /name the user/],
    [['user', 'disable', 'nobody@example.com'], 1, /no user/],
    [['user', 'enable', 'nobody@example.com'], 1, /no user/],
    [['user', 'set-role', 'nobody@example.com', '--role', 'admin'], 1, /no user/],
    [['user', 'set-role', 'nobody@example.com'], 2, /--role/],
    [['org', 'list', '--bogus'], 2, /unknown option/],
    [['demo', '--events', 'many'], 2, /--events/],
    [['serve', '--port', 'x'], 2, /PORT is "x"/],
    [['erase', '--org', 'cli'], 2, /required option '--email/],
    [['erase', '--org', 'cli', '--email', 'ana'], 2, /email must be an e-mail address/],
    [['erase', '--org', 'cli', '--email', 'a@b.example', '--name', 'x'], 2, /--name: a text of 2 to 320/],
    [['erase', '--org', 'cli', '--email', 'a@b.example', '--account', 'x'], 2, /--account: leave, erase/],
    [['erase', '--org', 'nobody', '--email', 'a@b.example', '--confirm', '1000000000'], 1, /no organization/],
    [
      ['erase', '--org', 'cli', '--email', 'a@b.example', '--confirm', '1'],
      1,
      /in 0 stored events, and 1 were/,
    ],
    [['completion', 'tcsh'], 2, /bash, zsh, fish/],
    [['export', '--org', 'cli', '-o', 'events.xlsx'], 2, /--output: a name that ends in .ndjson/],
    [
      ['export', '--org', 'cli', '-o', '/no/such/x.csv'],
      1,
      /cannot write .*x.csv: the directory \/no\/such does not exist/,
    ],
    [['export', '--org', 'cli', '--format', 'csv', '-o', '/dev'], 1, /cannot write \/dev: it is a directory/],
    [['import', '/no/such.ndjson'], 2, /^auditlog: \/no\/such.ndjson: there is no such file/],
    [['import', '/dev'], 2, /cannot read \/dev: it is a directory/],
    [['import', '-', '--map', '/no/map'], 2, /^auditlog: --map: \/no\/map: there is no such file/],
    [['import', '-', '--map', '/dev/null'], 2, /^auditlog: --map: \/dev\/null: is not a file/],
  ];
  for (const [args, code, words] of wrong) {
    test(`${code}: ${args.join(' ')}`, async () => {
      const answer = await run(args);
      assert.deepEqual([answer.code, answer.out], [code, '']);
      assert.match(answer.error, words);
      assert.ok(!/\n {4}at /.test(answer.error), 'a stack');
    });
  }

  test('2: a bad variable, named', async () => {
    const answer = await run(['org', 'list'], { environment: { PORT: 'x', WORKERS: '0' } });
    assert.equal(answer.code, 2);
    assert.match(answer.error, /^auditlog: PORT is "x".*\nauditlog: WORKERS is "0".*\n$/);
  });

  test('what happens below a command is said in lines for people, not in JSON of the operational log', async () => {
    chmodSync(engine.dataDir, 0o755);
    const answer = await run(['doctor', '--quick', '--json']);
    const { dataDir } = engine;
    const words = 'Others could enter DATA_DIR; its mode is 0700 now';
    assert.equal(answer.error.split('\n')[0], `auditlog: ${words} (path ${dataDir}, mode 0755)`);
    for (const line of answer.error.split('\n')) assert.doesNotMatch(line, /^\{/);
    assert.equal(answer.out.trim().split('\n').length, 1);
  });

  test('2: an impossible data directory, also for doctor, which else reports damage', async () => {
    for (const command of [['org', 'list'], ['doctor']]) {
      const answer = await run(command, { environment: { DATA_DIR: '/dev/null/data' } });
      assert.equal(answer.code, 2, answer.out + answer.error);
      assert.match(answer.error, /^auditlog: DATA_DIR is .*\n$/);
    }
  });

  test('1: an engine that does not answer, in one line without credentials', async () => {
    const environment = {
      CLICKHOUSE_URL: 'http://127.0.0.1:9',
      CLICKHOUSE_PASSWORD: 'topsecret',
      LOG_LEVEL: 'silent',
    };
    const answer = await run(['org', 'list'], { environment });
    assert.equal(answer.code, 1);
    assert.match(answer.error, /^auditlog: .+\n$/);
    assert.ok(!answer.error.includes('topsecret'));
  });

  test('0: help, which names only commands that exist, and marks what must be given', async () => {
    const answer = await run(['--help']);
    assert.equal(answer.code, 0);
    assert.match(answer.out, /\nExit codes:\n {2}0 {2}done\n/);
    const environment = await run(['help', 'environment']);
    assert.equal(environment.code, 0);
    for (const name of Object.keys(variables)) assert.ok(environment.out.includes(`  ${name} `), name);
    for (const args of [['--help'], ['serve', '--help']])
      assert.ok((await run(args)).out.length < 4000, 'the environment is on request');
    const create = (await run(['org', 'create', '--help'])).out;
    assert.match(create, /--name <name> +name to show \(required\)/);
    assert.doesNotMatch(create, /--receipts [^-]*\(required\)/);
    const listed = [...(answer.out.split('\nCommands:\n')[1] ?? '').matchAll(/^ {2}([\w-]+)/gm)].map(
      ([, name]) => name,
    );
    const names = Object.keys(everyCommand).map((name) => name.split(' ')[0] ?? '');
    const commands = [...new Set(names.filter((name) => name !== 'environment')), 'help'];
    assert.deepEqual(new Set(listed.slice(0, commands.length)), new Set(commands));
    const leaves = commands.slice(0, -1).map((name) => [name]);
    for (const args of [
      [],
      ['environment'],
      ...leaves,
      ['user', 'create'],
      ['key', 'create'],
      ['org', 'set'],
    ]) {
      const { out } = await run([...args, '--help']);
      const long = out.split('\n').filter((line) => line.length > 100);
      assert.deepEqual(long, [], `auditlog ${args.join(' ')} --help`);
    }
    assert.equal((await run(['key', 'create', '--help'])).code, 0);
  });
});

test('version has the newest migration and the format of the log that this release knows', async () => {
  const newest = readdirSync(new URL('schema/migrations', projectRoot)).sort().at(-1)?.slice(0, 4);
  const answer = await run(['version', '--json']);
  const { migration, log_format } = JSON.parse(answer.out);
  assert.deepEqual([migration, log_format], [Number(newest), formatVersion]);
  const text = (await run(['version'])).out;
  assert.match(text, new RegExp(`tables up to migration ${newest}, log of format ${formatVersion}\n$`));
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('package.json', projectRoot), 'utf8'));
  const answer = await run(['--version']);
  assert.deepEqual([answer.code, answer.out, answer.error], [0, `${version}\n`, '']);
});

describe('completion', () => {
  for (const shell of ['bash', 'zsh', 'fish'])
    test(`${shell} can read it, and it names commands and options`, async (context) => {
      const { code, out } = await run(['completion', shell]);
      assert.equal(code, 0);
      for (const word of ['set-password', 'receipts', 'rotate', 'checkpoint'])
        assert.ok(out.includes(word), word);
      assert.ok(!out.includes('startTime'), 'a hidden option');
      const script = join(engine.dataDir, `completion.${shell}`);
      writeFileSync(script, out);
      const read = spawnSync(shell, ['-n', script], { encoding: 'utf8' });
      if (read.error !== undefined) context.skip(`${shell} is not installed`);
      else assert.deepEqual([read.status, read.stderr], [0, '']);
    });

  test('bash offers what fits the words so far', async () => {
    const { out } = await run(['completion', 'bash']);
    const offeredTo = (...words: string[]) => {
      const list = words.map((word) => `'${word}'`).join(' ');
      const script = `${out}\nCOMP_WORDS=(${list})\nCOMP_CWORD=${words.length - 1}\n_auditlog\necho "\${COMPREPLY[@]}"`;
      return spawnSync('bash', ['-c', script], { encoding: 'utf8' }).stdout.trim().split(' ');
    };
    const offered = (...words: string[]) => offeredTo('auditlog', ...words);
    assert.deepEqual(offered('ex'), ['export']);
    assert.deepEqual(offered('user', 'set'), ['set-role', 'set-password']);
    assert.deepEqual(offered('export', '--org', 'acme', '--file-n'), ['--file-name']);
    assert.deepEqual(offered('key', 'rotate', 'nothing', '--gr'), ['--grace']);
    // Values if they are few; otherwise nothing, so that the shell offers files.
    for (const [words, values] of [
      ['export --format', 'ndjson json csv parquet'],
      ['export --schema', 'default ocsf'],
      ['export --severity', 'Informational Medium High'],
      ['export -o', ''],
      ['forward --format', 'ndjson elastic-bulk splunk-hec loki otlp'],
      ['user create --role', 'admin auditor member'],
      ['key create --scopes', 'read write scim'],
      ['org set --passwords', 'on off'],
      ['sign-on set --provider', 'own service off'],
    ] as const)
      assert.deepEqual(offered(...words.split(' '), '').toSorted(), values.split(' ').toSorted(), words);
    assert.deepEqual(offered('completion', 'z'), ['zsh']);
    // npx runs the project's package, and others.
    assert.deepEqual(offeredTo('npx', 'auditlog', 'export', '--format', 'pa'), ['parquet']);
    assert.deepEqual(offeredTo('npx', 'auditlog', 'user', 'set-r'), ['set-role']);
    assert.deepEqual(offeredTo('npx', 'vite', 'ex'), ['']);
  });
});

test('a server’s engine is left running and its file in place', async () => {
  const connection: EngineConnection = engine.connection;
  await run(['org', 'list']);
  assert.equal(await engine.storage.ping(1000), true);
  assert.equal(engine.connection, connection);
  assert.equal(engine.engine.restarts(), 0);
});
