import { useState } from 'preact/hooks';
import { get, type Parameters } from '../api/request.ts';
import type { Row, Rows } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { formatClock, formatDuration, formatMoment } from '../ui/format.ts';
import { Choice } from '../ui/forms.tsx';
import { Marked } from '../ui/marked.tsx';
import { personWords } from '../ui/people.ts';
import { Loaded, useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { type EventDetail, fieldsOf } from './detail-data.ts';
import { placeText, rowsPath } from './event-list.ts';
import { type FilterName, parametersOf } from './filters.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';
import { isAddress } from './addresses.ts';
import { totalWords } from './words.ts';

const relations = ['flowId', 'actor', 'ip', 'fileName'] as const satisfies readonly FilterName[];
type Relation = (typeof relations)[number];

function valuesOf({ event, sourceText }: EventDetail): readonly (readonly [Relation, string])[] {
  const ip = event.src_endpoint?.ip;
  const { target, file } = fieldsOf(sourceText);
  const values = {
    flowId: event.flow_id,
    actor: event.actor.user?.email_addr,
    ip: ip !== undefined && isAddress(ip) ? ip : undefined,
    fileName: target ?? file,
  };
  return relations.flatMap((name) => {
    const value = values[name];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
}

/** Events before and after one: in its flow, by its actor, from its address, to its target. */
export function Around({ detail }: { readonly detail: EventDetail }) {
  const values = valuesOf(detail);
  const [chosen, choose] = useState<Relation>();
  const [name, value] = values.find(([one]) => one === chosen) ?? values[0] ?? [];
  if (name === undefined || value === undefined) return <p class="muted">{t('eventsAroundNone')}</p>;
  return (
    <>
      <Choice
        label={t('detail_around')}
        value={name}
        options={values.map(([one]) => [one, t(one === 'fileName' ? 'eventsTarget' : one)])}
        onChange={choose}
      />
      <Related key={`${name} ${value} ${detail.place}`} {...{ detail, name, value }} />
    </>
  );
}

type Side = 'before' | 'after';

/** Adjacent rows, newest first, with the number of events beyond each end. */
interface Neighbours {
  readonly rows: readonly Row[];
  readonly older: number;
  readonly newer: number;
  /** Oldest and newest event of all, Unix microseconds. */
  readonly oldest: number;
  readonly newest: number;
}

interface RelatedProps {
  readonly detail: EventDetail;
  readonly name: Relation;
  readonly value: string;
}

function Related({ detail, name, value }: RelatedProps) {
  const filter = parametersOf([{ name, isNot: false, values: [value] }]);
  const { resource: found } = useResource((abort) => neighboursOf(filter, detail.place, abort), []);
  const more = (side: Side, count: number, known: Neighbours) =>
    count > 0 && (
      <Button look="small" onClick={() => void found.load((abort) => extended(filter, known, side, abort))}>
        {t(`around_${side}`, { n: count })}
      </Button>
    );
  return (
    <Loaded resource={found}>
      {(known) => (
        <>
          {!known.rows.some(({ seq }) => seq === detail.seq) && <p role="status">{t('eventsAroundGone')}</p>}
          <p class="muted">
            {totalWords(known.older + known.rows.length + known.newer)}
            {known.rows.length > 0 && ` · ${formatDuration(known.newest - known.oldest)}`}{' '}
            <Button look="small" onClick={() => model.filter(name, value)}>
              {t('eventsOnly')}
            </Button>
          </p>
          {more('before', known.older, known)}
          <Steps rows={known.rows} seq={detail.seq} />
          {more('after', known.newer, known)}
        </>
      )}
    </Loaded>
  );
}

function Steps({ rows, seq }: { readonly rows: readonly Row[]; readonly seq: string }) {
  const steps = rows.toReversed();
  return (
    <ol class="flow">
      {steps.map((step, index) => {
        const before = steps[index - 1];
        const isHere = step.seq === seq;
        const after =
          before === undefined
            ? formatMoment(step.time, formatClock)
            : `+${formatDuration(step.time - before.time)}`;
        const who = personWords([step.actor_name, step.actor_email], model.shared.value);
        const about = [who, step.target_name ?? step.file_name, step.message];
        return (
          <li key={step.seq} class={isHere ? 'here' : undefined}>
            <span class="after">{after}</span>
            <a href={model.hrefOf(placeText(step))} aria-current={isHere ? 'step' : undefined}>
              <span class={`state${step.status === 'Failure' ? ' failed' : ''}`}>
                <Marked text={step.activity_name} />
              </span>
              {isHere && <span class="muted"> · {t('eventsAroundHere')}</span>}
              <br />
              <span class="muted">
                <Marked text={about.filter(Boolean).join(' · ')} />
              </span>
            </a>
          </li>
        );
      })}
    </ol>
  );
}

async function neighboursOf(filter: Parameters, place: string, abort: AbortSignal): Promise<Neighbours> {
  const ask = (parameters: Parameters) =>
    get<Rows>(rowsPath, { ...filter, ...parameters }, { signal: abort });
  const [from, after] = await Promise.all([
    ask({ from: place, limit: limits.aroundEvents + 1 }),
    ask({ after: place, limit: limits.aroundEvents }),
  ]);
  const rows = [...after.data, ...from.data];
  const older = from.meta.total - from.data.length;
  const newer = after.meta.total - after.data.length;
  const [last, first] = await Promise.all([
    older === 0 ? rows : ask({ after: '1970-01-01T00:00:00Z~0', limit: 1 }).then(({ data }) => data),
    newer === 0 ? rows : ask({ limit: 1 }).then(({ data }) => data),
  ]);
  const [oldest, newest] = [last.at(-1)?.time ?? 0, first[0]?.time ?? 0];
  return { rows, older, newer, oldest, newest };
}

async function extended(
  filter: Parameters,
  known: Neighbours,
  side: Side,
  abort: AbortSignal,
): Promise<Neighbours> {
  const { rows } = known;
  const end = side === 'before' ? rows.at(-1) : rows[0];
  if (end === undefined) return known;
  const parameters = { ...filter, [side]: placeText(end), limit: limits.aroundMoreEvents };
  const { data, meta } = await get<Rows>(rowsPath, parameters, { signal: abort });
  const rest = meta.total - data.length;
  return side === 'before'
    ? { ...known, rows: [...rows, ...data], older: rest }
    : { ...known, rows: [...data, ...rows], newer: rest };
}
