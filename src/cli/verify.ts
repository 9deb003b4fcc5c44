import type { VerifyEngine } from '../tools/verify.ts';
import type { CliDeps } from './context.ts';
import { setUp, withStorage } from './command-work.ts';
import { fullSpeedRow } from '../backup/throttle.ts';
import { verifyEngine } from './verify/engine.ts';

export function engineVerifier(deps: CliDeps): VerifyEngine {
  return {
    options: [['--org <slug>', 'slug or id of an organization in the engine'], fullSpeedRow],
    verify: (organization, options) =>
      withStorage(setUp(deps), (context) => verifyEngine(context, organization, options)),
  };
}
