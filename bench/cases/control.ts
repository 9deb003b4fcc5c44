import type { Lab } from '../lab/lab.ts';
import { sideBySide, type Slice } from '../lab/side-by-side.ts';
import { createHistogram, quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';

const rounds = 5;
/** Of each slice; half of them make a key, and half revoke it. */
const changesOfSlice = 10;
const warmSlices = 30;
const password = 'a password for the bench';

/** Makes and revokes keys as the administrator of a new organization. */
class Administrator {
  readonly #lab: Lab;
  readonly #cookie: string;

  private constructor(lab: Lab, cookie: string) {
    this.#lab = lab;
    this.#cookie = cookie;
  }

  static async signIn(lab: Lab): Promise<Administrator> {
    const { slug } = await lab.organization('changes');
    const email = 'bench@changes.example';
    const user = ['--org', slug, '--email', email, '--name', 'Bench', '--role', 'admin'];
    await lab.service.cli(['user', 'create', ...user, '--password-stdin'], password);
    const answer = await fetch(`${lab.service.url}/api/v1/auth/login-handler`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email, password, organization: slug }),
    });
    await answer.text();
    const cookie = answer.headers.getSetCookie()[0]?.split(';')[0];
    if (cookie === undefined) throw new Error(`a login answers ${answer.status}`);
    return new Administrator(lab, cookie);
  }

  /** One change after the other. */
  async slice(): Promise<Slice> {
    const histogram = createHistogram();
    const began = performance.now();
    const timed = async (path: string, body: object): Promise<{ readonly id: string }> => {
      const sent = performance.now();
      const answer = await this.#change(path, body);
      histogram.record((performance.now() - sent) * 1000);
      return answer;
    };
    for (let made = 0; made < changesOfSlice; made += 2) {
      const { id } = await timed('', { name: 'bench', scopes: ['read'] });
      await timed(`/${id}/revoke`, {});
    }
    const seconds = (performance.now() - began) / 1000;
    return { units: changesOfSlice, seconds, latency: histogram.data() };
  }

  async #change(path: string, body: object): Promise<{ readonly id: string }> {
    const { url } = this.#lab.service;
    const answer = await fetch(`${url}/api/v1/portal/api-keys${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Cookie: this.#cookie, Origin: url },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`a change of a key answers ${answer.status}: ${text}`);
    return JSON.parse(text) as { readonly id: string };
  }
}

/** Changes of control data, beside those of another commit. */
export async function benchChange(lab: Lab, other?: Lab): Promise<CaseResult> {
  const here = await Administrator.signIn(lab);
  const there = other && (await Administrator.signIn(other));
  // Compiled code, as in a server that runs for a while.
  for (let warm = 0; warm < warmSlices; warm += 1) {
    await here.slice();
    await there?.slice();
  }
  const measured = await sideBySide(lab, {
    id: 'control.change',
    title: 'a key is made or revoked, one change at a time',
    unit: 'changes',
    rounds,
    service: () => here.slice(),
    ...(other &&
      there && {
        reference: {
          name: 'the service of another commit',
          run: () => there.slice(),
          pid: other.service.pid,
          enginePid: other.engine.access.pid,
        },
      }),
  });
  const [p50, p99] = quantilesMs(measured.service.latency ?? [], [0.5, 0.99]);
  const latency = measured.reference?.side.latency;
  const reference = latency ? `; the other commit p50 ${quantilesMs(latency, [0.5])[0]?.toFixed(1)} ms` : '';
  return { ...measured, notes: [`p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms${reference}`] };
}
