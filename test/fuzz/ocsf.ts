import { parseArgs } from 'node:util';
import * as fc from 'fast-check';
import { activityTitles } from '../../src/ocsf/activities.ts';
import { checkSent, sourceText } from '../ocsf/standard-support.ts';

/**
 * npm run fuzz:ocsf -- [--events 1000000] [--seed N]
 *
 * Random source events as events of OCSF 1.1.0, each held to the schema and to what was sent. The same seed gives the
 * same events. Stops at the first failure with exit code 1 and the smallest event that fails.
 */

const { values } = parseArgs({
  options: { events: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
});
const batch = 10_000;
const events = Number(values.events);
let seed = Number(values.seed);
let valid = 0;
let refused = 0;

while (valid < events) {
  const property = fc.property(sourceText([...activityTitles.keys()]), (sent) => {
    if (checkSent(sent)) valid += 1;
    else refused += 1;
  });
  fc.assert(property, { numRuns: batch, seed });
  seed += 1;
  process.stdout.write(`${valid} valid events, ${refused} refused by ingest, next seed ${seed}\n`);
}
