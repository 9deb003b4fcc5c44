import { limits } from './limits.ts';

/** Organizations whose new events are read in one query. */
export interface Slice {
  readonly organizations: readonly string[];
  readonly events: number;
}

/** Gathers organizations that have few new events; one with more than a slice holds is alone. */
export function slicesOf(counts: ReadonlyMap<string, number>): Slice[] {
  const slices: Slice[] = [];
  let organizations: string[] = [];
  let events = 0;
  const seal = (): void => {
    if (organizations.length > 0) slices.push({ organizations, events });
    organizations = [];
    events = 0;
  };
  for (const [organization, count] of counts) {
    const isFull = organizations.length >= limits.sliceOrganizationsMax;
    if (isFull || events + count > limits.sliceEventsMax) seal();
    organizations.push(organization);
    events += count;
  }
  seal();
  return slices;
}
