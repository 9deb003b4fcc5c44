import { runTogether } from '../support/together.ts';

runTogether('service', 4, 6);
