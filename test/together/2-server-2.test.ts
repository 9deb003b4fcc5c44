import { runTogether } from '../support/together.ts';

runTogether('server', 2, 2);
