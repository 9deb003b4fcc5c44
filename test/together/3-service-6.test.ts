import { runTogether } from '../support/together.ts';

runTogether('service', 6, 6);
