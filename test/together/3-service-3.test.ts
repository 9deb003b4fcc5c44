import { runTogether } from '../support/together.ts';

runTogether('service', 3, 6);
