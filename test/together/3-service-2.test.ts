import { runTogether } from '../support/together.ts';

runTogether('service', 2, 6);
