import type { Plan } from './plan.ts';
import { type Outcome, runPlan } from './runner.ts';

/** The process of one run (`apart.ts`): reads a plan, prints its steps and the outcome. Ends with its parent. */

/** Its messages. */
export type Message = { readonly line: string } | { readonly outcome: Outcome };

const post = (message: Message): void => void process.send?.(message);

process.once('disconnect', () => process.exit(1));
process.once('message', (plan: Plan) => {
  void runPlan(plan, (line) => post({ line })).then((outcome) => post({ outcome }));
});
