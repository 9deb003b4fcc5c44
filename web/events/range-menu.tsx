import { useState } from 'preact/hooks';
import { serverNow } from '../api/instant.ts';
import { Button } from '../ui/button.tsx';
import { fromField, toField, zone } from '../ui/format.ts';
import { Field, type Fields, Form } from '../ui/forms.tsx';
import { Menu } from '../ui/menu.tsx';
import { t } from '../ui/text.ts';
import { type EventQuery, exactRange, type ExactRange, rangeNames } from './query.ts';
import { rangeWords } from './words.ts';

interface RangeProps<R> {
  readonly range: R;
  readonly onChange: (range: R) => void;
}

export function RangeMenu({ range, onChange }: RangeProps<EventQuery['range']>) {
  const words = rangeWords(range);
  return (
    <Menu icon="clock" label={`${t('eventsRange')}: ${words}`} button={words}>
      {(close) => {
        const choose = (next: EventQuery['range']) => {
          close();
          onChange(next);
        };
        return (
          <div class="range-panel stack">
            <ul>
              {rangeNames.map((name) => (
                <li key={name}>
                  <Button look="quiet small" aria-pressed={name === range} onClick={() => choose(name)}>
                    {t(`range_${name}`)}
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

function ExactForm({ range, onChange }: RangeProps<ExactRange>) {
  const [begun] = useState(range);
  const textOf = (micros: number | undefined) => (micros === undefined ? '' : toField(micros));
  const task = async (field: Fields) => {
    // The field has seconds, and a clock change repeats some: an end that was not edited keeps its value.
    const bound = (name: 'from' | 'to', rest: number) => {
      const micros = fromField(field(name));
      if (micros === fromField(textOf(begun[name]))) return begun[name];
      return micros === undefined ? undefined : micros + rest;
    };
    // The range includes all of the last second.
    onChange({ from: bound('from', 0), to: bound('to', 999_999) });
  };
  const field = (name: 'from' | 'to', label: string) => {
    const value = textOf(begun[name]);
    return <Field label={label} name={name} type="datetime-local" step="1" defaultValue={value} />;
  };
  return (
    <Form submit={t('eventsRangeApply')} look="" task={task}>
      <strong>
        {t('eventsRangeExact')} ({t(`zone_${zone.value}`)})
      </strong>
      {field('from', t('eventsRangeFrom'))}
      {field('to', t('eventsRangeTo'))}
    </Form>
  );
}
