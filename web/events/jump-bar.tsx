import { useEffect, useRef, useState } from 'preact/hooks';
import { toRfc3339 } from '../api/instant.ts';
import { Resource } from '../api/resource.ts';
import { Button, Icon } from '../ui/button.tsx';
import { fromField } from '../ui/format.ts';
import { t } from '../ui/text.ts';
import type { EventList } from './event-list.ts';
import { totalWords } from './words.ts';

interface JumpBarProps {
  readonly list: EventList;
  readonly onJump: (index: number) => void;
}

/** Below the table: to the newest and the oldest event, and to a moment among them. */
export function JumpBar({ list, onJump }: JumpBarProps) {
  const [moment, setMoment] = useState('');
  const place = useRef(new Resource<number>()).current;
  useEffect(() => () => place.stop(), [place]);
  const jump = async (event: SubmitEvent) => {
    event.preventDefault();
    const micros = fromField(moment);
    if (micros === undefined) return;
    await place.load((abort) => list.indexOf(toRfc3339(micros), abort));
    if (place.data.value !== undefined && place.error.value === undefined) onJump(place.data.value);
  };
  return (
    <div class="table-foot fine muted">
      <span class="roomy-only">{totalWords(list.total)}</span>
      <Button look="quiet small roomy-only" onClick={() => onJump(0)}>
        <Icon name="up" />
        {t('eventsJumpNewest')}
      </Button>
      <Button look="quiet small" onClick={() => onJump(list.total - 1)}>
        <Icon name="down" />
        {t('eventsJumpOldest')}
      </Button>
      <form class="line push" onSubmit={(event) => void jump(event)}>
        <label class="roomy-only" for="jump">
          {t('eventsJump')}
        </label>
        <input
          id="jump"
          type="datetime-local"
          step="1"
          value={moment}
          aria-label={t('eventsJump')}
          onInput={(event) => setMoment(event.currentTarget.value)}
        />
        <Button type="submit" look="small" disabled={moment === '' || place.isLoading.value}>
          {t('eventsRangeApply')}
        </Button>
      </form>
    </div>
  );
}
