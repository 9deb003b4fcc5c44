import type { Clock } from '../base/time/clock.ts';
import type { ControlStore } from './deletion.ts';
import {
  changeOfSettings,
  effectiveRetentionDays,
  findOrganization,
  type OrganizationSettings,
} from './organizations.ts';
import { type WaitingRemoval, waitingRemovals } from './planned-removals.ts';
import { policyOf, type PolicyPreview, previewPolicy } from './retention.ts';

interface Options extends ControlStore {
  readonly clock: Clock;
  /** The service's default; undefined: for ever. */
  readonly defaultDays: number | undefined;
}

export class RetentionPreview {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Undefined: nothing is planned. Rejects with EngineError. */
  async planned(organization: string): Promise<WaitingRemoval | undefined> {
    return (await waitingRemovals(this.#options.storage, organization)).get(organization);
  }

  /** Undefined if the settings leave the retention. See `previewPolicy`. */
  async of(
    reference: string,
    settings: OrganizationSettings,
    confirmed: number | undefined,
  ): Promise<PolicyPreview | undefined> {
    const { storage, directory, clock, defaultDays } = this.#options;
    if (settings.retention === undefined) return undefined;
    const organization = findOrganization(directory, reference);
    const days = effectiveRetentionDays({ ...organization, ...changeOfSettings(settings) }, defaultDays);
    return previewPolicy(storage, policyOf(directory, organization.id), { days, confirmed }, clock());
  }
}
