import { rateLimit } from '../api/request.ts';
import { Countdown } from '../ui/countdown.tsx';

/** Says that requests wait for the limit, and for how long. */
export function LimitNotice() {
  const waiting = rateLimit.waiting.value;
  return (
    <div class="limit-notice" role="status">
      {waiting !== undefined && (
        <p>
          <Countdown text="frameLimit" until={waiting.until} values={{ limit: waiting.requests }} />
        </p>
      )}
    </div>
  );
}
