import { runTogether } from '../support/together.ts';

runTogether('service', 5, 6);
