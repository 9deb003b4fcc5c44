import { useEffect, useRef } from 'preact/hooks';
import { isAborted, getText, RequestError } from '../api/request.ts';
import { Resource } from '../api/resource.ts';
import { sleep } from '../api/rate-limit.ts';
import type { EvidenceInclusion } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import { formatDay, formatDuration, formatMinute, startOfDay } from '../ui/time.ts';
import { limits } from './limits.ts';

interface Pending {
  readonly state: 'pending';
  readonly withinSeconds: number;
}

interface Covering {
  readonly state: 'covered' | 'altered';
  readonly inclusion: EvidenceInclusion;
  readonly text: string;
}

/** What there is to say of an event's evidence. `text` is the proof as the server sent it, for a file. */
type Proof = Pending | Covering | { readonly state: 'late' } | { readonly state: 'off' | 'absent' };

/** Whether a signed checkpoint covers the event, by its order number. */
export function Evidence({ seq }: { readonly seq: string }) {
  const proof = useRef(new Resource<Proof>()).current;
  useEffect(() => {
    proof.data.value = undefined;
    const asking = new AbortController();
    void follow(proof, seq, asking.signal);
    return () => {
      asking.abort();
      proof.stop();
    };
  }, [seq, proof]);
  const data = proof.data.value;
  const error = proof.error.value;
  return (
    <dl class="facts evidence">
      <dt>{t('eventsEvidence')}</dt>
      <dd aria-busy={data === undefined && error === undefined}>
        {data !== undefined && <Known proof={data} />}
        {data === undefined && error !== undefined && (
          <>
            <p class="state open">{t('eventsEvidenceFailed')}</p>
            <Button look="small" onClick={() => proof.retry()}>
              {t('retryNow')}
            </Button>
          </>
        )}
        {data === undefined && error === undefined && <span class="skeleton" />}
      </dd>
    </dl>
  );
}

function Known({ proof }: { readonly proof: Proof }) {
  switch (proof.state) {
    case 'covered':
    case 'altered':
      return <Covered {...proof} />;
    case 'pending':
      return (
        <p class="state open">
          {t('eventsEvidencePending', { time: formatDuration(proof.withinSeconds * 1_000_000) })}
        </p>
      );
    case 'late':
      return <p class="state open">{t('eventsEvidenceLate')}</p>;
    case 'off':
      return <p class="muted">{t('eventsEvidenceOff')}</p>;
    case 'absent':
      return <p class="state failed">{t('eventsEvidenceAbsent')}</p>;
    default:
      return proof satisfies never;
  }
}

function Covered({ inclusion, text, state }: Covering) {
  const { position, signed_at: signedAt } = inclusion;
  const isAltered = state === 'altered';
  return (
    <>
      <p class={isAltered ? 'state failed' : undefined}>
        {t(isAltered ? 'eventsEvidenceAltered' : 'eventsEvidenceCovered', {
          n: formatNumber(position),
          time: checkpointTime(Date.parse(signedAt) * 1000),
        })}
      </p>
      <Button look="small" onClick={() => download(`proof-${position}.json`, text)}>
        <Icon name="down" />
        {t('eventsEvidenceProof')}
      </Button>
    </>
  );
}

/** `12:03`, with the day where it is not today. */
function checkpointTime(micros: number): string {
  const isToday = micros >= startOfDay(Date.now());
  return isToday ? formatMinute(micros) : `${formatDay(micros)}, ${formatMinute(micros)}`;
}

/** Asks until a checkpoint covers the event, or none will. */
async function follow(proof: Resource<Proof>, seq: string, abort: AbortSignal): Promise<void> {
  try {
    for (let waitedMs = 0; ; ) {
      await proof.load((signal) => readProof(seq, waitedMs, signal));
      const data = proof.data.value;
      if (data?.state !== 'pending' && data?.state !== 'late') return;
      const againMs = data.state === 'late' ? limits.evidenceAgainMs : soonAfter(data);
      await sleep(againMs, abort);
      waitedMs += againMs;
    }
  } catch (error) {
    if (!isAborted(error)) throw error;
  }
}

/** Twice in the time that it should take. */
function soonAfter({ withinSeconds }: Pending): number {
  return Math.min(limits.evidenceAgainMs, Math.max(limits.evidenceAgainMsMin, withinSeconds * 500));
}

async function readProof(seq: string, waitedMs: number, signal: AbortSignal): Promise<Proof> {
  try {
    const text = await getText('/api/v1/portal/evidence/proof', { seq }, { signal });
    const inclusion = JSON.parse(text) as EvidenceInclusion;
    return { state: inclusion.as_recorded === false ? 'altered' : 'covered', inclusion, text };
  } catch (error) {
    if (!(error instanceof RequestError) || error.evidence === undefined) throw error;
    if (error.evidence !== 'pending') return { state: error.evidence };
    const withinSeconds = error.retryAfterSeconds ?? 0;
    return waitedMs > withinSeconds * 1000 ? { state: 'late' } : { state: 'pending', withinSeconds };
  }
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
