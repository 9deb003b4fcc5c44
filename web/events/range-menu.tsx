import { useState } from 'preact/hooks';
import { serverNow } from '../api/clock.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import { t, type TextKey } from '../ui/text.ts';
import { formatMoment, fromField, toField, zone } from '../ui/time.ts';
import { type EventQuery, type ExactRange, exactRange, type RangeName, rangeNames } from './query.ts';

const names: Readonly<Record<RangeName, TextKey>> = {
  '1h': 'eventsRange1h',
  '24h': 'eventsRange24h',
  '7d': 'eventsRange7d',
  '30d': 'eventsRange30d',
  '90d': 'eventsRange90d',
  today: 'eventsRangeToday',
  yesterday: 'eventsRangeYesterday',
  lastQuarter: 'eventsRangeLastQuarter',
  all: 'eventsRangeAll',
};

interface RangeMenuProps {
  readonly range: EventQuery['range'];
  readonly onChange: (range: EventQuery['range']) => void;
}

/** The range of time: one of the usual ones, or an exact one. */
export function RangeMenu({ range, onChange }: RangeMenuProps) {
  const words = rangeWords(range);
  return (
    <Menu
      label={`${t('eventsRange')}: ${words}`}
      button={
        <>
          <Icon name="clock" />
          {words}
          <Icon name="chevron" />
        </>
      }
    >
      {(close) => {
        const choose = (next: EventQuery['range']) => {
          close();
          onChange(next);
        };
        return (
          <div class="range-panel">
            <ul>
              {rangeNames.map((name) => (
                <li key={name}>
                  <Button look="quiet small" aria-pressed={name === range} onClick={() => choose(name)}>
                    {t(names[name])}
                  </Button>
                </li>
              ))}
            </ul>
            <ExactForm range={exactRange(range, serverNow())} onChange={choose} />
          </div>
        );
      }}
    </Menu>
  );
}

interface ExactFormProps {
  readonly range: ExactRange;
  readonly onChange: (range: ExactRange) => void;
}

function ExactForm({ range, onChange }: ExactFormProps) {
  const [from, setFrom] = useState(range.from === undefined ? '' : toField(range.from));
  const [to, setTo] = useState(range.to === undefined ? '' : toField(range.to));
  const [start, end] = [fromField(from), fromField(to)];
  const isRange = (start ?? end) !== undefined && (start ?? 0) <= (end ?? Number.POSITIVE_INFINITY);
  const zoneWords = t(zone.value === 'utc' ? 'utc' : 'local');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        // The field has seconds; all of the last one belongs to the range.
        onChange({ from: start, to: end === undefined ? undefined : end + 999_999 });
      }}
    >
      <strong>
        {t('eventsRangeExact')} ({zoneWords})
      </strong>
      <MomentField label={t('eventsRangeFrom')} value={from} onInput={setFrom} />
      <MomentField label={t('eventsRangeTo')} value={to} onInput={setTo} />
      <Button type="submit" disabled={!isRange}>
        {t('eventsRangeApply')}
      </Button>
    </form>
  );
}

interface MomentFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function MomentField({ label, value, onInput }: MomentFieldProps) {
  return (
    <label>
      {label}
      <input
        type="datetime-local"
        step="1"
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** A range as people read it. */
export function rangeWords(range: EventQuery['range']): string {
  if (typeof range === 'string') return t(names[range]);
  const { from, to } = range;
  if (from !== undefined && to !== undefined) return `${formatMoment(from)} – ${formatMoment(to)}`;
  if (from !== undefined) return t('eventsFrom', { time: formatMoment(from) });
  return t('eventsUntil', { time: formatMoment(to ?? 0) });
}
