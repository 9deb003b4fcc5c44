import { limits } from './limits.ts';

export interface Slice {
  readonly organizations: readonly string[];
  readonly events: number;
}

/** An organization with more than a slice is alone. */
export function divideSlices(counts: ReadonlyMap<string, number>): Slice[] {
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
