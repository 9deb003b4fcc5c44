import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';

/**
 * The system's Firefox without a window, driven over Marionette, the socket that every Firefox has: playwright-core drives
 * builds of its own alone. A message is its length in bytes, a colon, and JSON.
 */

/** Not `/usr/bin/firefox`, which is a snap on some systems: it cannot read a profile of ours. */
const paths = ['/usr/bin/firefox-esr', '/usr/lib/firefox/firefox'];
const waitMsMax = 10_000;
/** The name under which WebDriver passes an element. */
const elementKey = 'element-6066-11e4-a52e-4f735466cecf';
export const keys = { escape: '\uE00C', enter: '\uE007' };

function firefoxPath(): string | undefined {
  return [process.env['FIREFOX'] ?? paths].flat().find((path) => existsSync(path));
}

/** For the option `skip` of tests: true, and loudly so, where there is no Firefox. */
export function withoutFirefox(): boolean {
  if (firefoxPath() !== undefined) return false;
  process.stderr.write(
    '\n!!! NO FIREFOX: the test of the web page in it is SKIPPED. Install firefox-esr.\n\n',
  );
  return true;
}

/** What it is to do by itself: nothing, and nothing beyond this machine, where a proxy that is not there takes it. */
const preferences = (downloads: string): Record<string, string | number | boolean> => ({
  'marionette.port': 0,
  'network.proxy.type': 1,
  'network.proxy.http': '127.0.0.1',
  'network.proxy.http_port': 9,
  'network.proxy.ssl': '127.0.0.1',
  'network.proxy.ssl_port': 9,
  'app.normandy.enabled': false,
  'app.update.disabledForTesting': true,
  'browser.safebrowsing.downloads.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.server': '',
  'browser.download.folderList': 2,
  'browser.download.dir': downloads,
  'intl.accept_languages': 'en-GB, en',
});

export class Firefox {
  readonly downloads: string;
  readonly #directory: string;
  readonly #child: ChildProcess;
  readonly #socket: Socket;
  readonly #answers = new Map<number, (answer: readonly [unknown, unknown]) => void>();
  #received = Buffer.alloc(0);
  #asked = 0;

  private constructor(directory: string, child: ChildProcess, socket: Socket) {
    this.#directory = directory;
    this.downloads = join(directory, 'downloads');
    this.#child = child;
    this.#socket = socket.on('data', (bytes: Buffer) => this.#take(bytes));
  }

  static async start(): Promise<Firefox> {
    const directory = await temporaryDirectory();
    const [profile, downloads] = [join(directory, 'profile'), join(directory, 'downloads')];
    await Promise.all([profile, downloads].map((path) => mkdir(path)));
    const lines = Object.entries(preferences(downloads)).map(
      ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
    );
    await writeFile(join(profile, 'user.js'), lines.join(''));
    // System access is for what the console of the browser has said.
    const args = ['--headless', '--marionette', '--remote-allow-system-access', '--profile', profile];
    const env = { ...process.env, HOME: directory, TZ: 'Europe/Berlin' };
    const child = spawn(firefoxPath() ?? '', args, { env, stdio: 'ignore' });
    process.once('exit', () => child.kill('SIGKILL'));
    const port = await eventually('the port of Marionette', () =>
      readFile(join(profile, 'MarionetteActivePort'), 'utf8').catch(() => undefined),
    );
    const socket = connect({ host: '127.0.0.1', port: Number(port) });
    await once(socket, 'connect');
    const firefox = new Firefox(directory, child, socket);
    await firefox.#ask('WebDriver:NewSession', { timeouts: { implicit: patience(waitMsMax) } });
    return firefox;
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
    await removeDirectory(this.#directory);
  }

  async goto(url: string): Promise<void> {
    await this.#ask('WebDriver:Navigate', { url });
  }

  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T> {
    return this.#ask('WebDriver:ExecuteScript', { script: `return ${expression}`, args: [] }) as Promise<T>;
  }

  /** An element, once it is there: by CSS, or by XPath where it begins with a slash. */
  async click(selector: string): Promise<void> {
    await this.#ask('WebDriver:ElementClick', { id: await this.find(selector) });
  }

  async type(selector: string, text: string): Promise<void> {
    await this.#ask('WebDriver:ElementSendKeys', { id: await this.find(selector), text });
  }

  async find(selector: string): Promise<string> {
    const using = selector.startsWith('/') ? 'xpath' : 'css selector';
    const found = (await this.#ask('WebDriver:FindElement', { using, value: selector })) as Record<
      string,
      string
    >;
    return found[elementKey] ?? '';
  }

  /** A key for what has the focus. */
  async press(key: string): Promise<void> {
    const actions = ['keyDown', 'keyUp'].map((type) => ({ type, value: key }));
    await this.#ask('WebDriver:PerformActions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
  }

  /** Errors of scripts and style sheets of an origin, and what its security policy has refused. */
  async faults(origin: string): Promise<string[]> {
    await this.#ask('Marionette:SetContext', { value: 'chrome' });
    const script = `return Services.console.getMessageArray()
      .filter((one) => one instanceof Ci.nsIScriptError && one.sourceName.startsWith(${JSON.stringify(origin)}))
      .map(({ category, errorMessage }) => category + ': ' + errorMessage)`;
    const said = await this.#ask('WebDriver:ExecuteScript', { script, args: [] });
    await this.#ask('Marionette:SetContext', { value: 'content' });
    return said as string[];
  }

  async #ask(name: string, parameters: object): Promise<unknown> {
    const id = (this.#asked += 1);
    const answer = new Promise<readonly [unknown, unknown]>((resolve) => this.#answers.set(id, resolve));
    const text = JSON.stringify([0, id, name, parameters]);
    this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    const [error, result] = await answer;
    if (error !== null) throw new Error(`${name} ${JSON.stringify(parameters)}: ${JSON.stringify(error)}`);
    const { value } = result as { readonly value?: unknown };
    return value === undefined ? result : value;
  }

  /** `[1, id, error, result]` answers a command; the greeting answers none. */
  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (;;) {
      const colon = this.#received.indexOf(':');
      const end = colon + 1 + Number(this.#received.toString('latin1', 0, Math.max(0, colon)));
      if (colon < 0 || this.#received.length < end) return;
      const message = JSON.parse(this.#received.toString('utf8', colon + 1, end)) as unknown;
      this.#received = this.#received.subarray(end);
      if (!Array.isArray(message)) continue;
      const [, id, error, result] = message as [1, number, unknown, unknown];
      this.#answers.get(id)?.([error, result]);
      this.#answers.delete(id);
    }
  }
}
