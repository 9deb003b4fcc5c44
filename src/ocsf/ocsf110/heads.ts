import { type ActivityClass, allActivities } from '../activity-classes.ts';
import { ocsfFacts } from './facts.ts';
import type { Constants, Range } from './output.ts';

/** The beginning of an activity's events, in two parts around the event's own name of it. */
export interface Head {
  readonly before: Range;
  readonly after: Range;
  /** The schema has no such activity ("Other"): the source's name is used. */
  readonly isOther: boolean;
}

const other = 99;

function makeHead(constants: Constants, { classUid, activityId }: ActivityClass): Head {
  const known = ocsfFacts().classes.get(classUid);
  const activity = known?.attributes.get('activity_id')?.values?.[activityId];
  if (known === undefined || activity === undefined)
    throw new Error(`the schema has no activity ${activityId} of class ${classUid}`);
  const { categoryUid, categoryName, caption } = known;
  const json = JSON.stringify;
  const isOther = activityId === other;
  return {
    before: constants.add(
      `{"category_uid":${categoryUid},"category_name":${json(categoryName)},"class_uid":${classUid},` +
        `"class_name":${json(caption)},"activity_id":${activityId},"activity_name":"${isOther ? '' : activity}`,
    ),
    after: constants.add(
      `","type_uid":${classUid * 100 + activityId},"type_name":${json(`${caption}: ${activity}`)},"time":`,
    ),
    isOther,
  };
}

export function makeHeads(constants: Constants): ReadonlyMap<ActivityClass, Head> {
  return new Map(allActivities.map((one) => [one, makeHead(constants, one)]));
}
