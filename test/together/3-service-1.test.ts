import { runTogether } from '../support/together.ts';

runTogether('service', 1, 6);
