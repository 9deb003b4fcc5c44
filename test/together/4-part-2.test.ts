import { runTogether } from '../support/together.ts';

runTogether('part', 2, 3);
