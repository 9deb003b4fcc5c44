import type { Verb } from '../ocsf/activity-classes.ts';

const words: Readonly<Record<Verb, string>> = {
  // Kubernetes: `get pods/exec` runs a command, whatever its verb.
  other: 'exec attach portforward proxy',
  create: 'create created insert inserted',
  read: 'get list describe lookup search read view viewed query scan head select watch batchget',
  update:
    'update updated put set patch modify modified edit edited change changed write updatecollection alter altered',
  delete: 'delete deleted destroy destroyed deletecollection drop dropped truncate',
};
const verbs: ReadonlyMap<string, Verb> = new Map(
  Object.entries(words).flatMap(([verb, all]) => all.split(' ').map((word) => [word, verb as Verb] as const)),
);

/**
 * The action in a name such as `DescribeInstances`, `storage.objects.list`, `get secrets`,
 * `Microsoft.Compute/disks/write`. The verb is the first word of the name, of its last part, or the last word
 * of all.
 */
export function findVerb(text: string): Verb {
  const all = splitWords(text);
  const part = splitWords(text.split(/[./:\s]/).at(-1) ?? '');
  for (const word of [part[0], part.at(-1), all[0]]) {
    const verb = verbs.get(word ?? '');
    if (verb !== undefined) return verb;
  }
  return 'other';
}

function splitWords(text: string): string[] {
  return (text.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase());
}
