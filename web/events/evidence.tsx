import { useEffect, useRef } from 'preact/hooks';
import { serverNow } from '../api/instant.ts';
import { get, RequestError, withQuery } from '../api/request.ts';
import type { EvidenceInclusion } from '../api/types.ts';
import { download } from '../ui/browser.ts';
import { Button } from '../ui/button.tsx';
import { formatDuration, formatLately } from '../ui/format.ts';
import { Loaded, useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { limits } from './limits.ts';

const proofPath = '/api/v1/portal/evidence/proof';

const looks = {
  covered: '',
  altered: 'state failed',
  pending: 'state open',
  late: 'state open',
  off: 'muted',
  absent: 'state failed',
} as const;

interface Proof {
  readonly state: keyof typeof looks;
  readonly inclusion?: EvidenceInclusion;
  /** When a checkpoint will cover it, of pending and late ones. */
  readonly withinSeconds?: number;
}

/** Whether a signed checkpoint covers the event. Repeats the request until one does or none will. */
export function Evidence({ seq }: { readonly seq: string }) {
  const sinceMs = useRef(serverNow()).current;
  const { resource, reload } = useResource((signal) => readProof(seq, sinceMs, signal), []);
  const proof = resource.data.value;
  useEffect(() => {
    if (proof?.withinSeconds === undefined) return undefined;
    // Twice within the expected time.
    const soonMs = Math.max(limits.evidenceAgainMsMin, proof.withinSeconds * 500);
    const waitMs = proof.state === 'late' ? Number.POSITIVE_INFINITY : soonMs;
    const timer = setTimeout(reload, Math.min(limits.evidenceAgainMs, waitMs));
    return () => clearTimeout(timer);
  }, [proof]);
  return (
    <dl class="facts evidence">
      <dt class="muted">{t('eventsEvidence')}</dt>
      <dd>
        <Loaded resource={resource}>{(known) => <Known proof={known} seq={seq} />}</Loaded>
      </dd>
    </dl>
  );
}

function Known({ proof, seq }: { readonly proof: Proof; readonly seq: string }) {
  const { state, inclusion, withinSeconds = 0 } = proof;
  const time =
    inclusion === undefined
      ? formatDuration(withinSeconds * 1_000_000)
      : formatLately(Date.parse(inclusion.signed_at) * 1000);
  return (
    <>
      <p class={looks[state]}>{t(`evidence_${state}`, { time, n: inclusion?.position ?? 0 })}</p>
      {inclusion !== undefined && (
        <Button
          icon="down"
          look="small"
          onClick={() => download(withQuery(proofPath, { seq }), `proof-${inclusion.position}.json`)}
        >
          {t('eventsEvidenceProof')}
        </Button>
      )}
    </>
  );
}

async function readProof(seq: string, sinceMs: number, signal: AbortSignal): Promise<Proof> {
  try {
    const inclusion = await get<EvidenceInclusion>(proofPath, { seq }, { signal });
    return { state: inclusion.as_recorded === false ? 'altered' : 'covered', inclusion };
  } catch (error) {
    if (!(error instanceof RequestError) || error.problem.evidence === undefined) throw error;
    if (error.problem.evidence !== 'pending') return { state: error.problem.evidence };
    const withinSeconds = error.retryAfterSeconds ?? 0;
    return { state: serverNow() - sinceMs > withinSeconds * 1000 ? 'late' : 'pending', withinSeconds };
  }
}
