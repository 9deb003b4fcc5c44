import { runTogether } from '../support/together.ts';

runTogether('part', 3, 3);
