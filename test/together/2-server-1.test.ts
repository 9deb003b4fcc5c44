import { runTogether } from '../support/together.ts';

runTogether('server', 1, 2);
