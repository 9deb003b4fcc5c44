import { runTogether } from '../support/together.ts';

runTogether('part', 1, 3);
