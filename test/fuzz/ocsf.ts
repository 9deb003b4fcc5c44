import { parseArgs } from 'node:util';
import * as fc from 'fast-check';
import { activityTitles } from '../../src/ocsf/activities.ts';
import { checkSent, sourceText } from '../ocsf/ocsf110-support.ts';

/**
 * npm run fuzz:ocsf -- [--events 1000000] [--seed N] [--codes 25]
 *
 * Random source events as events of OCSF 1.1.0, each held to the schema and to what was sent. To draw an event takes
 * longer than to check it, so each is checked with so many codes, one after the other from the registry. The same seed
 * gives the same events. Stops at the first failure with exit code 1 and the smallest event that fails.
 */

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    codes: { type: 'string', default: '25' },
  },
});
const codes = [...activityTitles.keys(), 2099, -1];
const batch = 1_000;
const codesAtOnce = Number(values.codes);
const events = Number(values.events);
let seed = Number(values.seed);
let valid = 0;
let refused = 0;

/** The last `action` of a drawn event is its own, and is its last member but for `timestamp`. */
function withCode(sent: string, code: number): string {
  const at = sent.lastIndexOf('"action":');
  const ofCode = /^"action":(\{"code":)?-?\d+/.exec(sent.slice(at));
  return ofCode === null
    ? sent
    : sent.slice(0, at) + ofCode[0].replace(/-?\d+$/, String(code)) + sent.slice(at + ofCode[0].length);
}

const property = fc.property(sourceText(codes), fc.nat(codes.length - 1), (sent, first) => {
  for (let n = 0; n < codesAtOnce; n++) {
    if (checkSent(withCode(sent, codes[(first + n) % codes.length] as number))) valid += 1;
    else refused += 1;
  }
});
for (let drawn = batch; drawn * codesAtOnce < events + batch * codesAtOnce; drawn += batch) {
  fc.assert(property, { numRuns: batch, seed });
  seed += 1;
  process.stdout.write(
    `${valid} valid events of ${drawn} drawn, ${refused} refused by ingest, next seed ${seed}\n`,
  );
}
